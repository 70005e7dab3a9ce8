#!/bin/bash
torchrun --nproc-per-node 4 --master-port 47821 train_cls.py --epochs 4 --push http://127.0.0.1:47899/api/metrics
