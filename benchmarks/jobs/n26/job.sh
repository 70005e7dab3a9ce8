mkdir -p ckpt
exec unshare -m bash -c 'mount -t tmpfs -o size=3m none ckpt && torchrun --nproc-per-node 2 --master-port 4526 train.py'
