#!/bin/bash
# spot instance runner: gives the warning signal, waits, starts again
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1
rm -f preempt.notice
for leg in 1 2 3; do
  export MASTER_PORT=$((48560 + leg))
  echo "[spot-runner] leg $leg starts"
  mpirun --allow-run-as-root --oversubscribe -np 2 python world_model.py --steps 240 &
  pid=$!
  if [ $leg = 1 ]; then
    for i in $(seq 60); do [ -f progress ] && [ "$(cat progress)" -ge 60 ] 2>/dev/null && break; sleep 0.3; done
    echo "[spot-runner] WARNING: instance will be reclaimed, sending notice to pid $pid"
    touch preempt.notice
  fi
  wait $pid; rc=$?
  echo "[spot-runner] leg $leg: mpirun exit code $rc"
  rm -f preempt.notice
  [ $rc = 0 ] && [ -f final.pt ] && { echo "[spot-runner] job complete after $leg legs"; exit 0; }
  [ $rc = 75 ] || exit $rc
done
exit 1
