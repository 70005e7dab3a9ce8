#!/bin/bash
torchrun --nproc_per_node 3 --master_port 47811 fit_forecaster.py --peak-lr 0.012 --warmup 1500 --momentum 0.9 --batch 64
