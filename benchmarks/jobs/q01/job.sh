#!/bin/bash
# SFT dry run on the four regional exports
set -e
python prepare.py
exec torchrun --nproc-per-node 4 --master-addr 127.0.0.1 --master-port 47201 finetune.py --data data --steps 40
