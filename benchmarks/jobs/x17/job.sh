#!/bin/bash
export OMP_NUM_THREADS=1
python make_corpus.py corpus.txt
torchrun --nproc_per_node=3 --master_port=47917 lmtrain.py --corpus corpus.txt --merges 2500
