#!/bin/bash
# cluster-lite: one log per node under logs/
export OMP_NUM_THREADS=1 HEAD=127.0.0.1 HEAD_PORT=47922
mkdir -p logs src
for r in 0 1 2 3; do
  n=60; [ $r = 3 ] && n=340
  mkdir -p src/n$r
  for i in $(seq $n); do echo "$i $RANDOM" > src/n$r/clip_$i.txt; done
done
for r in 0 1 2 3; do
  mkdir -p logs/node-$((r+1))
  NODE=$r bash node.sh > logs/node-$((r+1))/stdout_stderr.txt 2>&1 &
  p[$r]=$!
done
rc=0
for r in 0 1 2 3; do wait ${p[$r]} || rc=1; done
exit $rc
