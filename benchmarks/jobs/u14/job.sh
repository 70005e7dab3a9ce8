#!/usr/bin/env bash
export OMP_NUM_THREADS=1
deepspeed --num_gpus 2 --master_addr 127.0.0.1 --master_port 47614 pretrain.py --deepspeed --deepspeed_config ds_cpu.json --layers 2
