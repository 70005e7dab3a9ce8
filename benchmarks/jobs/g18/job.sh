torchrun --nproc-per-node 2 --master-port 31750 calibrate.py
