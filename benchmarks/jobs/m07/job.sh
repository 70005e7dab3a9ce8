export TORCH_DISTRIBUTED_DEBUG=DETAIL
torchrun --nproc-per-node 4 --master-port 4407 train_ema.py
