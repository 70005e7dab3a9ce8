python make_docs.py
torchrun --master_addr 127.0.0.1 --master_port 48305 --nproc_per_node=2 pack_train.py
