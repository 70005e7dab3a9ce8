#!/usr/bin/env bash
# three workers + the memory guard of the shared box
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47203 WORLD_SIZE=3
mkdir -p run
for r in 0 1 2; do
  RANK=$r python embed.py > >(sed "s/^/worker-$r: /") 2>&1 &
  echo $! > run/worker-$r.pid
done
bash memguard.sh run 650 & guard=$!
rc=0
for r in 0 1 2; do
  wait $(cat run/worker-$r.pid); c=$?
  echo "[launch] worker-$r (pid $(cat run/worker-$r.pid)) finished with status $c"
  [ $c -ne 0 ] && rc=$c
done
kill $guard 2>/dev/null; wait $guard 2>/dev/null
sleep 0.5
exit $rc
