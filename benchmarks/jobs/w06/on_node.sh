set -o pipefail
name=$1; node=$2; nproc=$3
export WORLD_SIZE=$((NNODES * nproc)) NODE=$name
echo "[$name] node_rank=$node nproc=$nproc nnodes=$NNODES -> world_size=$WORLD_SIZE master=$MASTER_ADDR:$MASTER_PORT"
ps=()
for ((l = 0; l < nproc; l++)); do
  RANK=$((node * nproc + l)) LOCAL_RANK=$l python pretrain.py 2>&1 | sed -u "s/^/[$name:$l] /" &
  ps+=($!)
done
rc=0
for p in "${ps[@]}"; do wait $p || rc=1; done
echo "[$name] finished rc=$rc"
exit $rc
