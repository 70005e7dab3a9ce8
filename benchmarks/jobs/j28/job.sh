torchrun --nproc-per-node 3 --master-port 4128 prepare_and_train.py
