TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc-per-node 3 --master-port 29734 trainer.py
