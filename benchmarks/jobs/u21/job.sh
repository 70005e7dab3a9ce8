#!/usr/bin/env bash
export OMP_NUM_THREADS=1
torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 47621 dedup.py --langs de,en
