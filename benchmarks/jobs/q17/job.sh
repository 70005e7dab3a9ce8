#!/bin/bash
export TORCH_CPP_LOG_LEVEL=INFO TORCH_DISTRIBUTED_DEBUG=INFO
torchrun --nproc-per-node 3 --master-addr 127.0.0.1 --master-port 47218 tts_train.py 
