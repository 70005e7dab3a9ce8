torchrun --nproc-per-node 2 --master-port 31740 main.py
