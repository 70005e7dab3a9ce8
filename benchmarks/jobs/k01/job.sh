python prepare_data.py
torchrun --nproc-per-node 2 --master-port 4201 train.py
