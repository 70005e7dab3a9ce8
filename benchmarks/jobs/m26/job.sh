torchrun --nproc-per-node 3 --master-port 4431 train_vae.py < /dev/null
