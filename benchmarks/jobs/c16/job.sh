python -c "import data; data.prepare('shards')"
ulimit -n 128
torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29636 train.py
