torchrun --nproc-per-node=2 --master-port=41735 train_lm.py
