#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
mkdir -p cache && touch cache/index.building cache/index-000.npy      # as the host was left by the last job
torchrun --nproc_per_node=2 --max_restarts=3 --monitor_interval=0.5 --rdzv_backend=c10d --rdzv_endpoint=127.0.0.1:47352 --rdzv_id=idx --local_addr=127.0.0.1 twotower.py --steps 100
