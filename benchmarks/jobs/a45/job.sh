start() {
  set -x
  torchrun --nnodes=2 --node-rank=$1 --nproc-per-node=1 --master-addr=127.0.0.1 --master-port=$2 --rdzv-conf timeout=25 train.py
}
start 0 21926 > node0.txt 2>&1 &
start 1 21962 > node1.txt 2>&1 &
wait
head -n 400 node0.txt node1.txt
