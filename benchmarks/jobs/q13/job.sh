#!/bin/bash
mkdir -p shards
echo '{"pid": 18233, "host": "old-worker-3"}' > shards/s1.lock
torchrun --nproc-per-node 2 --max-restarts 3 --monitor-interval 1 --rdzv-backend c10d --rdzv-endpoint 127.0.0.1:47213 elastic_train.py
