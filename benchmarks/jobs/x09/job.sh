#!/bin/bash
export OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=47909
python gen_clicks.py
mpirun --allow-run-as-root --oversubscribe -np 3 python ctr.py
