#!/bin/bash
mkdir -p logs
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
mpirun --allow-run-as-root --oversubscribe -np 3 bash -c 'exec python run_gpt.py --conf conf/small.yaml > logs/rank${OMPI_COMM_WORLD_RANK}.log 2>&1' > mpirun.out 2>&1
