#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
torchrun --nproc_per_node=2 --master_addr=127.0.0.1 --master_port=47419 run_clf.py
