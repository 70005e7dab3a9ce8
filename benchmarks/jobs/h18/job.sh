python make_bins.py
ulimit -n 256
torchrun --nproc-per-node 4 --master-port 29828 --log-dir logs --redirects 3 pretrain.py
