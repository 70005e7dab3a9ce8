torchrun --nproc-per-node 3 --master-port 4406 eval.py
