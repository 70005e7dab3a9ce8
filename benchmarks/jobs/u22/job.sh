#!/usr/bin/env bash
set -e
python -m unittest -v test_metrics.py
mpirun --allow-run-as-root --oversubscribe -np 4 -x OMP_NUM_THREADS=1 python fed.py --rounds 15 --port 47622
test -s global.npy && echo "global model ok"
