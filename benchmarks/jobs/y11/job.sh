#!/bin/bash
torchrun --master_addr=127.0.0.1 --master_port=48111 --nproc-per-node 3 --no-python bash rank_entry.sh
