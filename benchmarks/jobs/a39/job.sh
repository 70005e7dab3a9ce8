torchrun --nproc-per-node 3 --master-port 21884 dedup.py --thr 0.9
