#!/bin/bash
set -o pipefail
step() { echo; echo ">>> [$1] ${*:2}"; "${@:2}" || { echo ">>> [$1] FAILED"; exit 1; }; }
step 1/4 python prep.py --out work/train.jsonl --split train
step 2/4 torchrun --nproc-per-node 2 --master-port 4632 train.py --data work/train.jsonl --out work/model.pt
step 3/4 python prep.py --out work/dev.jsonl --split validation
step 4/4 torchrun --nproc-per-node 2 --master-port 4632 eval.py --data work/validation.jsonl --ckpt work/model.pt
echo ">>> pipeline done"
