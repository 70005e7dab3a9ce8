#!/bin/bash
# hosts.txt: name  node_rank  gpus
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47807 NNODES=2
pids=()
while read -r name node nproc; do
  bash on_node.sh "$name" "$node" "$nproc" &
  pids+=($!)
done < hosts.txt
rc=0
for p in "${pids[@]}"; do wait "$p" || rc=1; done
echo "all nodes returned, rc=$rc"
exit $rc
