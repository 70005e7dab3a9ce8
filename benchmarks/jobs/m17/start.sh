export MASTER_ADDR=127.0.0.1 MASTER_PORT=4417 GLOO_SOCKET_IFNAME=lo
source cluster.env
start() { echo "+ RANK=$1 WORLD_SIZE=$2 python fit.py" ; RANK=$1 WORLD_SIZE=$2 python -u fit.py & }
start 0 $NODES
start 1 $NODES
start 2 $((NODES + 1))
wait
