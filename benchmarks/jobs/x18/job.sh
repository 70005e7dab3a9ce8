#!/bin/bash
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
python notes.py
torchrun --nproc_per_node 3 --master_port 47918 sft.py
