#!/usr/bin/env bash
# nightly ranking model, one log per rank
mkdir -p logs
torchrun --nproc_per_node=3 --master_addr 127.0.0.1 --master_port 48301 train_ranker.py --steps 400 > logs/launcher.log 2>&1
