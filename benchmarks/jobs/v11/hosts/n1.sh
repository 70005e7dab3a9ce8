export RANK=1
export WORLD_SIZE=4
export MASTER_ADDR=127.0.0.1
export MASTER_PORT=47711
export NAME=rack2-n1
