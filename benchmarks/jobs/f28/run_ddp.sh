#!/usr/bin/env bash
set -euo pipefail
EXP=${1:?usage: run_ddp.sh EXP}
mkdir -p exp/$EXP
echo "experiment $EXP"
NGPU=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
echo "using $NGPU gpus"
torchrun --nproc-per-node $NGPU --master-port 29691 train.py exp/$EXP
