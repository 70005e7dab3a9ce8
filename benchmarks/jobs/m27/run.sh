#!/bin/bash
set -m
torchrun --nproc-per-node 2 --master-port 4432 pretrain.py &
L=$!
( sleep 12; kill -INT $L ) &
wait $L
