torchrun --nproc-per-node 3 --master-port 4516 regress.py 2>&1 | cat
