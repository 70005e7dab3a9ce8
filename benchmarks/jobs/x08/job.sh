#!/bin/bash
set -u
export OMP_NUM_THREADS=1 MASTER_ADDR=localhost MASTER_PORT=47908
sh prep_scratch.sh
mpirun --allow-run-as-root --oversubscribe -np 3 --tag-output python vit_shards.py
rc=$?
echo "mpirun returned $rc"
exit $rc
