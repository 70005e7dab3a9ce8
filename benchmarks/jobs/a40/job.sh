torchrun --nproc-per-node 2 --master-port 21891 train.py
