#!/bin/bash
python feats.py
torchrun --nproc_per_node 4 --master_addr 127.0.0.1 --master_port 47719 ctr.py 2>&1
