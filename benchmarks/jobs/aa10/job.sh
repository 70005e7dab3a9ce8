#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=48310 WORLD_SIZE=2
mkdir -p logs
for r in 0 1; do
  RANK=$r timeout -s ABRT -k 5 30 python vision.py --workers 2 > logs/worker_$r.txt 2>&1 &
  pids="$pids $!"
done
rc=0
for p in $pids; do wait $p || rc=$?; done
sleep 1
exit $rc
