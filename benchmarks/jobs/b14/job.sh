torchrun --nproc-per-node=3 --master-port=41724 main.py
