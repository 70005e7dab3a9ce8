torchrun --nproc-per-node 3 --master-addr 127.0.0.1 --master-port 29649 evaluate.py
