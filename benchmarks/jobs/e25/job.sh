torchrun --nproc-per-node 3 --master-port 29745 train.py
