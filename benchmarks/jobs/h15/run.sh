export MASTER_ADDR=127.0.0.1 MASTER_PORT=29825 WORLD_SIZE=3
start() { RANK=$1 python train.py & }
start 0
start 1
start 1
wait
