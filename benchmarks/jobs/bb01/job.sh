set -e
python make_shards.py
torchrun --nproc_per_node 3 --master_port 48401 train.py --epochs 6
