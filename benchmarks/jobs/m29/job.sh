torchrun --nproc-per-node 4 --master-port 4434 train_gan.py --exp base
