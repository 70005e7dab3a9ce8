#!/bin/bash
export OMP_NUM_THREADS=1 ACCELERATE_USE_CPU=true
torchrun --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 47741 autobatch.py
