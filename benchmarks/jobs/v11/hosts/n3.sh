export RANK=3
export WORLD_SIZE=4
export MASTER_ADDR=127.0.0.1
export MASTER_PORT=47717
export NAME=rack2-n3
