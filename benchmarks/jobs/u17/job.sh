#!/usr/bin/env bash
export OMP_NUM_THREADS=1
rm -rf logs; mkdir logs
torchrun --nproc_per_node=3 --master_port=47617 --tee 3 run.py --docs 200000 > logs/node0.log 2>&1
