COMMON="MASTER_ADDR=127.0.0.1 MASTER_PORT=4418 WORLD_SIZE=3"
env $COMMON RANK=0 python -u worker.py --name alpha &
env $COMMON RANK=1 python -u worker.py --name beta &
env $COMMON RANK=1 python -u worker.py --name gamma &
wait
