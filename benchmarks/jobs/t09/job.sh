#!/bin/bash
# usage: job.sh        starts one trainer per line of hosts.txt (all local on this box)
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47515 WORLD_SIZE=4
mkdir -p logs
n=0
while read -r host gpu; do
  case "$host" in \#*) n=$((n+1)); continue;; esac
  echo "$(date +%T) start $host (rank $n, $gpu)" >> logs/launcher.log
  RANK=$n DEVICE_NAME=$gpu python trainer.py > logs/$host.log 2>&1 &
  pids="$pids $!"; names="$names $host"
  n=$((n+1))
done < hosts.txt
rc=0
set -- $names
for p in $pids; do
  wait $p; s=$?
  echo "$(date +%T) $1 exit $s" >> logs/launcher.log
  [ $s -ne 0 ] && rc=1
  shift
done
exit $rc
