torchrun --nproc-per-node 3 --master-port 21800 --max-restarts 1 --tee 3 --log-dir lg train.py
