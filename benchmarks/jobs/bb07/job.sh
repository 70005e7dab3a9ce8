torchrun --nproc_per_node 2 --master_port 48425 run.py conf/small.json
