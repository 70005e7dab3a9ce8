#!/bin/bash
cd "$(dirname "$0")"
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47110 WORLD_SIZE=4
pids=()
for r in 0 1 2 3; do RANK=$r python eval_loop.py & pids+=($!); done
rc=0
for p in "${pids[@]}"; do wait $p || rc=1; done
echo "launcher: all ranks gone, status $rc"
exit $rc
