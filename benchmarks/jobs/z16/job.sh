#!/bin/bash
export GLOO_SOCKET_IFNAME=lo
python stage1.py
mkdir -p scratch/step400
cp stage1/step400/rank0.pt scratch/step400/
dd if=stage1/step400/rank1.pt of=scratch/step400/rank1.pt bs=64k count=21 status=none
deepspeed --num_gpus 2 --master_addr 127.0.0.1 --master_port 48231 continue.py --load scratch/step400
