#!/usr/bin/env bash
set -e
python make_clicks.py --out data --campaigns 4
torchrun --nproc_per_node=4 --master_addr 127.0.0.1 --master_port 47501 train_ctr.py --data data --epochs 3
