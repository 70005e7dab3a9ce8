#!/bin/bash
cd "$(dirname "$0")"
export RUN_TMP=$PWD/tmp; mkdir -p tmp
bash limits.sh & LIM=$!
rc=1
for try in 1 2; do
  echo "### try $try/2 $(date -u +%FT%TZ)"
  ATTEMPT=$try torchrun --nproc-per-node 3 --master-port $((47107 + try)) speech_pretrain.py
  rc=$?
  echo "### try $try finished rc=$rc"
  [ $rc -eq 0 ] && break
done
kill $LIM 2>/dev/null; wait $LIM 2>/dev/null
exit $rc
