TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc-per-node 4 --master-port 4107 --tee 3 train_ddp.py
