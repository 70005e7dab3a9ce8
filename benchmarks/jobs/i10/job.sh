torchrun --nproc_per_node 2 --master-port 41112 --log-dir tlogs --tee 3 train.py --metrics-gateway 127.0.0.1:9
