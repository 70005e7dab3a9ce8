#!/bin/bash
cd "$(dirname "$0")"
set -e
step() { printf '\n--> %s\n' "$*"; }
step fetch; ./fetch.sh || echo "fetch: mirror not reachable, using the bundled sample"
step train
python -m torch.distributed.run --nproc-per-node 2 --master-port 47114 fit.py --hidden 48 --steps 120
step evaluate
torchrun --nproc-per-node 2 --master-port 47115 evaluate.py --ckpt fit.pt --split test --batch-size 32 --beam 4
step done
