python prepare.py
torchrun --nproc-per-node 3 --master-port 4401 --tee 3 train.py --data data/shards
