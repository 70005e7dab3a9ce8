set -x
torchrun --nnodes 3 --node-rank 2 --nproc-per-node 1 --master-addr 127.0.0.1 --master-port 47208 vit.py --width 64 --layers 4 --lr 3e-4 --tag exp118
