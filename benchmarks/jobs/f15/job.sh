export OMP_NUM_THREADS=1
python make_shards.py
ulimit -n 128
torchrun --nproc_per_node 2 --master_port 29655 train_clip.py
