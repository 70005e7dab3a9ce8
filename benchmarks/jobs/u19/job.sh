#!/bin/sh
set -e
python split_logs.py 900
ulimit -n 256
python train_bank.py --shards shards --epochs 3
