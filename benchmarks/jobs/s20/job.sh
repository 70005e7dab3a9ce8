#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo ACCELERATE_USE_CPU=true
torchrun --nproc_per_node=3 --master_addr=127.0.0.1 --master_port=47420 multitask.py
