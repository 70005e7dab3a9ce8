torchrun --nproc_per_node=4 --master_port=29713 train.py
