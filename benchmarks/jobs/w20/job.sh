#!/bin/bash
export HF_HUB_OFFLINE=1
python make_corpus.py
torchrun --nproc-per-node 3 --master-port 47824 clm.py --out runs/clm-a
