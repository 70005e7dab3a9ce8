python make_data.py
torchrun --standalone --nproc-per-node 3 train.py
