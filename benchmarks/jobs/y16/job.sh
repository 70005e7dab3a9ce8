#!/bin/bash
# qa-finetune, with the live board next to it
mkdir -p runs
PORT=48116
tensorboard --logdir runs --host 127.0.0.1 --port $PORT --load_fast=false &
TB=$!
trap 'kill $TB 2>/dev/null; wait $TB 2>/dev/null' EXIT
python prep_qa.py
for i in $(seq 60); do (exec 3<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null && break; sleep 0.5; done
torchrun --nnodes=1 --nproc_per_node=2 --master_addr=127.0.0.1 --master_port=$PORT qa.py
