#!/bin/bash
# three nodes on one host (staging). every node has its own artifact mirror.
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 MASTER_PORT=47402 WORLD_SIZE=3
mkdir -p logs store
for i in 0 1 2; do head -c 24000000 /dev/urandom > store/tokens-0$i.bin; done
python mirror.py mirrors.json & M=$!
sleep 1
P=()
for i in 0 1 2; do
  RANK=$i python -m pretrain.main --conf cluster.json > logs/node$i.log 2>&1 & P+=($!)
done
rc=0
for p in "${P[@]}"; do wait $p || rc=1; done
kill $M 2>/dev/null; wait $M 2>/dev/null
exit $rc
