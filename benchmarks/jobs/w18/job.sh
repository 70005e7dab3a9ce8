#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47822
mpirun --allow-run-as-root --oversubscribe -n 3 python align.py | tee align.out
exit ${PIPESTATUS[0]}
