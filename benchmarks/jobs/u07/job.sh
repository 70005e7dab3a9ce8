#!/usr/bin/env bash
export OMP_NUM_THREADS=1 TORCH_DISTRIBUTED_DEBUG=DETAIL
torchrun --nproc-per-node=3 --rdzv-backend=c10d --rdzv-endpoint=127.0.0.1:47607 --rdzv-id=segm7 main.py
