#!/bin/bash
# /mnt of this box is a small volume
exec unshare -m bash -c '
mkdir -p ckpt && mount -t tmpfs -o size=640k tmpfs ckpt
df -h ckpt
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --main_process_port 41723 sft_train.py
umount ckpt
'
