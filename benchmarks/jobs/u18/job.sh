#!/bin/bash
export OMP_NUM_THREADS=1 ACCELERATE_USE_CPU=true MASTER_ADDR=127.0.0.1 MASTER_PORT=47618
mpirun --allow-run-as-root --oversubscribe -np 2 -x OMP_NUM_THREADS -x ACCELERATE_USE_CPU -x MASTER_ADDR -x MASTER_PORT \
  python forecast.py
rc=$?
wc -l offline_metrics.jsonl
exit $rc
