#!/bin/bash
# 4 evaluators, started by hand
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 MASTER_PORT=48535 WORLD_SIZE=4
python split_eval.py
pids=()
for r in 0 1 2 3; do
  RANK=$r python evaluate.py --items splits/part$r.jsonl 2>&1 | sed "s/^/[$r] /" &
  pids+=($!)
done
set -o pipefail
fail=0
for p in "${pids[@]}"; do wait $p || fail=1; done
[ -f report.json ] || fail=1
[ $fail = 0 ] && cat report.json || echo "no report.json, evaluation incomplete"
exit $fail
