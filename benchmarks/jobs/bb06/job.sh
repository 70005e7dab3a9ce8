torchrun --master_port 48421 --nproc_per_node 3 main.py
