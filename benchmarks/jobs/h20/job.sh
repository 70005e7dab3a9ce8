TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc-per-node 3 --master-port 29830 train_vae.py
