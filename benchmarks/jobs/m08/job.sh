torchrun --nproc-per-node 3 --master-port 4408 train.py
