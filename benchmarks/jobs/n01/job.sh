python make_data.py
torchrun --nproc-per-node 2 --master-port 4501 train.py --epochs 2
