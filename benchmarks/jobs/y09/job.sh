#!/bin/bash
# poor man's cluster: one process per "node", node-local scratch below scratch/<node>
NODES=(gpu-a01 gpu-a02 gpu-a03 gpu-a04)
mkdir -p logs
python make_shards.py scratch "${NODES[@]}" > logs/stage.log 2>&1 || exit 1
export MASTER_ADDR=127.0.0.1 MASTER_PORT=48109 WORLD_SIZE=${#NODES[@]}
pids=()
for i in "${!NODES[@]}"; do
  n=${NODES[$i]}
  NODE_NAME=$n RANK=$i python pretrain_mlm.py --scratch scratch/$n --cfg mlm.json > logs/$n.log 2>&1 &
  pids+=($!)
done
rc=0
for p in "${pids[@]}"; do wait $p || rc=$?; done
exit $rc
