#!/bin/bash
export GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 MASTER_PORT=48203
mkdir -p run
bash memguard.sh 1100000 >/dev/null 2>&1 &
guard=$!
mpirun --allow-run-as-root --oversubscribe -np 4 python lm_ddp.py
rc=$?
kill $guard 2>/dev/null; wait $guard 2>/dev/null
echo "mpirun rc=$rc"
exit $rc
