#!/bin/bash
#SBATCH --ntasks=3 --signal=USR1@60 --requeue
echo "job 88123 starts on $(hostname) at $(date +%T)"
mkdir -p state; rm -f state/*
mpirun --allow-run-as-root --oversubscribe -np 3 --tag-output -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=41119 python trainer.py &
M=$!
while [ $(ls state/*.pid 2>/dev/null | wc -l) -lt 3 ]; do sleep 0.3; done
sleep 5
kill -USR1 $(cat state/*.pid)
wait $M
echo "job 88123 ends, status $?"
