torchrun --nproc-per-node 2 --master-port 21898 main.py --lr 0.6
