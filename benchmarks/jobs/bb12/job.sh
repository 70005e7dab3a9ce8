python mk.py
torchrun --nproc_per_node 2 --master_port 48445 train.py
