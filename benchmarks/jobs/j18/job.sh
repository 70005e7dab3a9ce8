torchrun --nproc-per-node 4 --master-port 4118 train_tagger.py
