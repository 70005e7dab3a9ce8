torchrun --nproc-per-node 3 --master-port 31760 --tee 3 xunlian.py
