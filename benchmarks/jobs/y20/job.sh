#!/bin/bash
set -eo pipefail
export ACCELERATE_USE_CPU=true
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision bf16 --dynamo_backend no --main_process_port 48120 speech_ft.py | tee speech.log
test -s speech_out/model.safetensors
