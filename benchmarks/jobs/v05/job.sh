#!/bin/sh
exec torchrun --nproc_per_node=3 --master_addr=127.0.0.1 --master_port=47705 sft.py
