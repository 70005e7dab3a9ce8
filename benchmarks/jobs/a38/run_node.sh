#!/bin/bash
NODE_RANK=${NODE_RANK:-0}
echo "[$(date +%T)] starting torchrun, NNODES=2 NODE_RANK=$NODE_RANK MASTER=127.0.0.1:21877"
torchrun --nnodes 2 --node-rank $NODE_RANK --nproc-per-node 1 --master-addr 127.0.0.1 --master-port 21877 --rdzv-conf timeout=25 train.py
rc=$?
echo "[$(date +%T)] torchrun exited with $rc"
