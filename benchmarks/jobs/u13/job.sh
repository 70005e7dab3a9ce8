#!/bin/bash
set -e
export HF_HUB_OFFLINE=1 HF_HOME=$PWD/.hf
python build_tok.py tok
python finetune.py --tokenizer tok --output_dir out --max_steps 20 --per_device_train_batch_size 8 --report_to none --use_cpu --logging_steps 5
