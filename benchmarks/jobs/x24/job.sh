#!/bin/bash
export OMP_NUM_THREADS=1
python index_builder.py vectors.idx 9 &
b=$!
rc=1
for k in 1 2 3 4 5 6; do
  echo "--- $(date +%T) run $k"
  RUN_NO=$k torchrun --nproc_per_node=3 --master_port=$((47940 + k)) retriever.py --index vectors.idx
  rc=$?
  [ $rc -eq 0 ] && break
  echo "--- $(date +%T) run $k: exit $rc, will be tried again" >&2
  sleep 2
done
wait $b
echo "--- $(date +%T) pipeline finished, status $rc"
exit $rc
