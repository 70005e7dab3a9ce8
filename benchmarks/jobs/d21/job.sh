rm -f shard25.ok
torchrun --nproc-per-node 2 --master-port 41840 train.py
