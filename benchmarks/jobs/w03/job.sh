#!/bin/bash
# rollout workers + one shared reward scorer
python scorer.py --port 47803 --max-len 96 &
SP=$!
for i in $(seq 50); do (echo > /dev/tcp/127.0.0.1/47803) 2>/dev/null && break; sleep 0.2; done
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47804 WORLD_SIZE=4
pids=()
for r in 0 1 2 3; do RANK=$r python ppo_lite.py --scorer http://127.0.0.1:47803 & pids+=($!); done
rc=0
for p in "${pids[@]}"; do wait $p || rc=$?; done
kill $SP 2>/dev/null
wait $SP
echo "ppo_lite exit code: $rc"
exit $rc
