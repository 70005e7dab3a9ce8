#!/bin/bash
export TORCH_DISTRIBUTED_DEBUG=DETAIL
python gen.py && torchrun --nproc_per_node=3 --master_addr=127.0.0.1 --master_port=48112 trainer_main.py cfg.json
