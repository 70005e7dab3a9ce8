#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
mpirun --allow-run-as-root --oversubscribe -np 4 --output-filename elastic_out -x OMP_NUM_THREADS -x GLOO_SOCKET_IFNAME \
  -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=47435 python -W default amp_train.py > /dev/null 2>&1
rc=$?
mkdir -p logs
for r in 0 1 2 3; do cat elastic_out/1/rank.$r/stdout elastic_out/1/rank.$r/stderr > logs/rank.$r; done
exit $rc
