torchrun --nnodes 1 --nproc-per-node 2 --master-port 21744 train.py --epochs 5 --batch_size 32 --learning-rate 3e-4
