#!/bin/bash
set -u
mkdir -p logs
python gen_pages.py pages > logs/gen.log 2>&1 || exit 1
for r in 0 1 2 3; do
  SHARD=$r NSHARDS=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=47826 python clean_pages.py pages clean > logs/worker-$r.log 2>&1 &
  w[$r]=$!
done
st=0
for r in 0 1 2 3; do wait ${w[$r]} || st=1; done
cat clean/*.jsonl | sort -u | wc -l | sed 's/^/unique pages after merge: /' > logs/merge.log
exit $st
