torchrun --nproc-per-node 4 --master-port 21863 ps.py
