torchrun --nproc-per-node 2 --master-port 4510 segment.py
