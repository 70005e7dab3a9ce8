#!/bin/bash
# keep going until it is through
n=0
until torchrun --nproc-per-node=3 --master-port=4202 train.py; do
  rc=$?
  n=$((n+1))
  echo "[run] $(date '+%F %T') attempt $n ended with exit code $rc, starting again in 2 s"
  [ $n -ge 8 ] && exit 1
  sleep 2
done
echo "[run] $(date '+%F %T') finished after $n retries, exit code 0"
