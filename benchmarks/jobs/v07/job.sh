#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47707 WORLD_SIZE=6 OMP_NUM_THREADS=1
pids=""
while read -r r lang order gb; do
  case "$r" in \#*) continue;; esac
  ( ulimit -v $((gb*1024*1024)); RANK=$r exec python ngram_em.py --lang $lang --order $order 2>&1 ) &
  pids="$pids $!"
done < nodes.txt
rc=0
for p in $pids; do wait $p || rc=$?; done
echo "ngram_em finished rc=$rc"
exit $rc
