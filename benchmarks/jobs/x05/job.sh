#!/bin/bash
# three boxes of the lab, one process each; logs/<box>.log
export OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=47905 WORLD_SIZE=3
mkdir -p logs
boxes=(luna sol terra); cache=(0 1 0)
pids=()
for r in 0 1 2; do
  BOX=${boxes[$r]} RANK=$r CACHE_DECODED=${cache[$r]} python seg_train.py > logs/${boxes[$r]}.log 2>&1 &
  pids+=($!)
done
bash memwatch.sh 1100 "${pids[@]}" >/dev/null 2>&1 &
w=$!
rc=0
for p in "${pids[@]}"; do wait $p || rc=1; done
kill $w 2>/dev/null
wait $w 2>/dev/null
exit $rc
