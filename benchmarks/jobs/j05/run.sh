#!/bin/bash
# one line per worker: rank
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4105 WORLD_SIZE=4
mkdir -p logs
i=0
for r in $(cat ranks.txt); do
  RANK=$r python worker.py --cfg config.yaml > logs/host$i.log 2>&1 &
  i=$((i+1))
done
wait
