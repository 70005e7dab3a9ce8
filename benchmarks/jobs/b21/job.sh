python make_shards.py
torchrun --nproc-per-node 3 --master-port 41731 classify.py
