#!/usr/bin/env bash
# startet 5 Worker auf einer Maschine, je eine Logdatei
mkdir -p logs shards
python split_corpus.py 5
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47702 WORLD_SIZE=5
pids=()
for r in 0 1 2 3 4; do
  RANK=$r python lm.py > logs/worker-$r.log 2>&1 &
  pids+=($!)
done
st=0
for p in "${pids[@]}"; do wait $p || st=1; done
exit $st
