python split.py
torchrun --nproc-per-node 3 --master-port 21716 train_tagger.py
