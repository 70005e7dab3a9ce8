#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4124 WORLD_SIZE=3
for r in 0 1 2; do
  RANK=$r LOCAL_RANK=$r timeout -k 5 60 python -u train.py 2>&1 | sed -u "s/^/gpu-$r> /" &
done
wait
