#!/bin/bash
export TOKENIZERS_PARALLELISM=false
torchrun --nproc-per-node 2 --master-port 41711 train.py
