#!/bin/bash
# startet drei Prozesse auf diesem Rechner, ein Log je Rang
mkdir -p logs
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47503 WORLD_SIZE=3
pids=()
for r in 0 1 2; do
  RANK=$r python prognose.py > logs/rank$r.log 2>&1 &
  pids+=($!)
done
rc=0
for r in 0 1 2; do
  wait ${pids[$r]}; s=$?
  echo "[start.sh] Rang $r beendet, Status $s" >> logs/rank$r.log
  [ $s -ne 0 ] && rc=$s
done
exit $rc
