torchrun --nproc-per-node 4 --master-port 21912 --log-dir log --tee 2 cnn.py
