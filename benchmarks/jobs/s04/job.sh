#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python export_shards.py
torchrun --nproc-per-node 4 --master-addr 127.0.0.1 --master-port 47404 ranker/train.py
