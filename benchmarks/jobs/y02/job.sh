#!/usr/bin/env bash
set -euo pipefail
python prepare.py
torchrun --master_addr=127.0.0.1 --master_port=48102 --nproc_per_node 2 train_lora.py --model ckpt/opt-nano --lora-targets query_key_value,dense --rank 16
