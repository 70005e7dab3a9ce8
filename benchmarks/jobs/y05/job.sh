#!/bin/sh
MPI="mpirun --allow-run-as-root --oversubscribe -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=48105"
echo "== phase A (2 workers) =="
$MPI -np 2 python pretrain_continue.py --until 40 || exit 1
echo "== phase B (3 workers) =="
$MPI -np 3 python pretrain_continue.py --until 120
