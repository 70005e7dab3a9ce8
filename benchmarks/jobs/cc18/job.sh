#!/bin/bash
set -o pipefail
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 MASTER_PORT=48555
python tiles.py
mpirun --allow-run-as-root --oversubscribe --tag-output -np 4 python segment.py 2>&1 | tee seg.log
