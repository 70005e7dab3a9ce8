python prep.py
torchrun --nproc-per-node 4 --master-port 29823 train.py
