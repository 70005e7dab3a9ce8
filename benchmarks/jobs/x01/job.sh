#!/bin/bash
# nightly ASR fine-tune, one box, 4 processes
set -e
export OMP_NUM_THREADS=1
python tools/split_manifest.py --out manifests --shards 4 --seed 17
torchrun --nproc_per_node 4 --master_port 47901 asr_finetune.py --manifests manifests --lr 3e-4
