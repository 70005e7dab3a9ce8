#!/bin/bash
python chats.py && torchrun --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint localhost:48115 fsdp_sft.py
