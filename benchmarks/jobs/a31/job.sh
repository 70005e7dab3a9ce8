export TORCH_DISTRIBUTED_DEBUG=DETAIL
torchrun --nproc-per-node 3 --master-port 21828 search.py
