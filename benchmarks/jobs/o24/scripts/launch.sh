#!/usr/bin/env bash
set -euo pipefail
CONFIG=${1:?usage: launch.sh CONFIG}
export TOKENIZERS_PARALLELISM=false
NGPU=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
echo "launching on $NGPU GPUs with $CONFIG"
torchrun --nproc-per-node "$NGPU" --master-port 4624 train.py --config "$CONFIG"
