#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 MASTER_PORT=47706
mkdir -p run
bash memguard.sh 420 & guard=$!
mpirun --allow-run-as-root --oversubscribe -np 4 python gnn_train.py
rc=$?
kill $guard 2>/dev/null
wait $guard 2>/dev/null
exit $rc
