python prep_shards.py 8
torchrun --nproc-per-node 3 --master-port 29811 train.py
