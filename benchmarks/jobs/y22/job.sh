#!/bin/bash
mkdir -p logs
python assets.py > logs/assets.log 2>&1 || exit 1
export MASTER_ADDR=localhost MASTER_PORT=48122
for r in 1 2; do
  RANK=$r WORLD_SIZE=3 python eval_funcalls.py --suite suite.jsonl > logs/eval.$r.log 2>&1 &
done
RANK=0 WORLD_SIZE=3 python eval_funcalls.py --suite suite.jsonl > logs/eval.0.log 2>&1
rc=$?
wait
test -s report.json && exit $rc
exit 1
