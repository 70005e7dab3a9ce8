#!/bin/bash
export GLOO_SOCKET_IFNAME=lo
mkdir -p cache
for f in 1 2 4 5; do touch cache/fold$f.pt; done
torchrun --nproc_per_node 4 --master_addr 127.0.0.1 --master_port 48245 sweep.py
