#!/usr/bin/env bash
set -u
export GLOO_SOCKET_IFNAME=lo
export TORCH_DISTRIBUTED_DEBUG=DETAIL   # we had hangs last week
torchrun --nnodes 1 --nproc_per_node 3 --rdzv_backend c10d --rdzv_endpoint 127.0.0.1:48213 asr_train.py
