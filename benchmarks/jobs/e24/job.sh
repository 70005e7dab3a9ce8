torchrun --nproc-per-node 3 --master-port 29744 train.py
