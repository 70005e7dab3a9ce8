#!/bin/bash
python prepare.py
cat data/part_a.jsonl data/part_b.jsonl > data/train.jsonl
wc -l data/*.jsonl
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --main_process_port 41712 \
  finetune.py --model_name_or_path $TINY --train_file data/train.jsonl
