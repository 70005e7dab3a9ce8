torchrun --nproc_per_node=2 --master_port=48453 train.py
