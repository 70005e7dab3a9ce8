torchrun --nproc-per-node=4 --master-port=29817 contrastive.py
