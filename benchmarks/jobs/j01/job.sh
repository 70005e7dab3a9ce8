python prepare_shards.py
# copy to the local cache, as on the cluster
mkdir -p cache && head -c 9000 shards/train_01.npy > cache/t && mv cache/t shards/train_01.npy
torchrun --nproc-per-node 3 --master-port 4101 train.py
