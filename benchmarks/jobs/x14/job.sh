#!/bin/bash
set -o pipefail
export OMP_NUM_THREADS=1
bash fetch_shards.sh
torchrun --nproc_per_node=5 --master_port=47914 --tee 3 tower.py 2>&1 | grep -v '^$'
