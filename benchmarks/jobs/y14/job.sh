#!/bin/bash
set -e
cc -O1 -shared -fPIC -o libfastclean.so fastclean.c
python dump.py
set +e
mpirun --allow-run-as-root --oversubscribe -np 2 -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=48114 python finetune_loader.py
rc=$?
echo "$(date +%T) mpirun rc=$rc"
exit $rc
