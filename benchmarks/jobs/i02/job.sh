rm -rf shards
python stage.py &
torchrun --standalone --nproc_per_node 3 --max-restarts 4 --monitor-interval 1 pretrain.py
wait
