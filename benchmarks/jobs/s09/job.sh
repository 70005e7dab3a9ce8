#!/usr/bin/env bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
set -e
python build_features.py
torchrun --standalone --nproc_per_node=3 tab.py 
