#!/bin/bash
unset PYTHONUNBUFFERED
python prepare_base.py
echo "=== finetune start $(date +%T)"
torchrun --nproc_per_node=2 --master-port=4302 finetune.py 2>&1 | tee finetune.out
echo "exit code $?"
echo "=== finetune finished $(date +%T)"
