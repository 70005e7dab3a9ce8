#!/bin/bash
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=info
deepspeed --num_gpus 2 --master_port 48107 finetune.py --deepspeed ds_zero2.json --per_device_train_batch_size 8 --gradient_accumulation_steps 2 --learning_rate 3e-4 --max_steps 40 --output_dir out --use_cpu True --logging_steps 5
