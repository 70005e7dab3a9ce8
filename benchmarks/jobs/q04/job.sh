#!/bin/bash
# writes logs/rank_N.log
mkdir -p logs
python split_corpus.py > /dev/null
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47204 WORLD_SIZE=4
pids=()
for r in 0 1 2 3; do
  ( RANK=$r python pretrain.py corpus > logs/rank_$r.log 2>&1; c=$?; echo "exit status: $c" >> logs/rank_$r.log; exit $c ) &
  pids+=($!)
done
rc=0
for p in ${pids[@]}; do wait $p || rc=1; done
exit $rc
