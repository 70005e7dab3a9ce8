export OMP_NUM_THREADS=1
torchrun --nproc-per-node 2 --master-port 29673 -m nano.main optim.warmup=500
