#!/bin/bash
# nightly
PROJ=/workspace/nlp-pretrain
cd $PROJ
echo "start $(date +%F) on $(nproc) cpus"
torchrun --nproc-per-node 2 --master-port 29661 tools/train_lm.py --config configs/base.yaml
