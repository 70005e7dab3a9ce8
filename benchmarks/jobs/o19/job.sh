set -e
torchrun --nproc-per-node 2 --master-port 4619 --log-dir tlogs main.py
