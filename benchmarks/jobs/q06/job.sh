#!/bin/bash
# Sprachmodell, 3 Prozesse auf CPU
export TORCH_DISTRIBUTED_DEBUG=DETAIL
torchrun --nproc-per-node=3 --master-addr 127.0.0.1 --master-port 47206 speech_train.py --val-every 10
