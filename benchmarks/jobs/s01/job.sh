#!/bin/bash
# nightly finetune of the churn head, 4 workers on one box
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
torchrun --nnodes=1 --nproc_per_node=4 --master_addr=127.0.0.1 --master_port=47401 finetune.py --epochs 30 --patience 3
