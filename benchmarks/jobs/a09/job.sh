torchrun --nnodes 2 --nproc-per-node 2 --rdzv-id exp42 --rdzv-backend c10d --rdzv-endpoint 127.0.0.1:21667 --rdzv-conf join_timeout=20 train.py
