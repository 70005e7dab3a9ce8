#!/bin/bash
set -e
export GLOO_SOCKET_IFNAME=lo
python make_clicks.py
torchrun --nproc_per_node 3 --master_addr 127.0.0.1 --master_port 48201 train_ctr.py --rounds 3
