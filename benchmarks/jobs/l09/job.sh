unset PYTHONUNBUFFERED
torchrun --nproc-per-node 3 --master-port 4309 train.py
