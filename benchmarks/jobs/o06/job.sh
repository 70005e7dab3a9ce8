ulimit -n 128
[ -d shards ] || python make_shards.py 300
python train.py --shards shards --steps 100
