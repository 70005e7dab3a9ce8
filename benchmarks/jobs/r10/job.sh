#!/bin/bash
export OMP_NUM_THREADS=1
export GLOO_SOCKET_IFNAME=lo
torchrun --nproc-per-node=2 --master-addr=127.0.0.1 --master-port=47307 multitask.py --warmup 25 --steps 120
