#!/bin/bash
# nightly intent classifier
cd "$(dirname "$0")"
python make_corpus.py --out corpus --seed 11
torchrun --nproc_per_node 3 --master_port 47101 train_intent.py --corpus corpus --epochs 4
