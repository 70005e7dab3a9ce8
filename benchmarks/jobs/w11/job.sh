#!/bin/bash
export DS_ACCELERATOR=cpu
torchrun --nproc-per-node 3 --master-port 47812 ds_pretrain.py --deepspeed_config ds_zero1.json
