torchrun --nproc-per-node 3 --master-port 31773 train_asr.py
