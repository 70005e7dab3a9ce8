#!/bin/bash
set -e
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
torchrun --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 47342 eval_robust.py --cases 400
python summary.py
