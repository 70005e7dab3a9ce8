#!/usr/bin/env bash
set -e
python gen_corpus.py
mpirun --allow-run-as-root --oversubscribe -np 3 -x OMP_NUM_THREADS=1 \
  -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=47610 python w2v.py --dim 24 --steps 400
