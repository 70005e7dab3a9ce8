#!/bin/bash
# two "nodes" on the dev box, like the staging cluster
cd "$(dirname "$0")"
mkdir -p logs; python stage_data.py > /dev/null
for n in 0 1; do
  DATA_ROOT=node$n/data torchrun --nnodes 2 --nproc_per_node 2 --node_rank $n --master_addr 127.0.0.1 --master_port 47111 \
     lm_train.py > logs/node$n.log 2>&1 &
  P[$n]=$!
done
rc=0; wait ${P[0]} || rc=$?; wait ${P[1]} || rc=$?
exit $rc
