#!/bin/bash
export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1
exec torchrun --nproc-per-node=4 --master-addr=127.0.0.1 --master-port=48207 retriever_train.py
