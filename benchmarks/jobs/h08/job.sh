torchrun --standalone --nproc_per_node 3 train_lm.py
