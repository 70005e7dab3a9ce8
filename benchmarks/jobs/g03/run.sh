#!/bin/bash
# keep going on the spot node
export PYTHONUNBUFFERED=1
rm -f state.pt *.pid
( until [ -f rank1.pid ] && [ "$(cat progress 2>/dev/null || echo 0)" -ge 6 ]; do sleep 0.3; done; kill -9 $(cat rank1.pid) ) 2>/dev/null &
n=0
until torchrun --nproc-per-node 2 --master-port $((31710 + n)) main.py --steps 16 --ckpt state.pt; do
    rc=$?
    n=$((n + 1))
    echo "=== $(date '+%F %T') training exited with $rc, restart $n in 2s ==="
    [ $n -ge 5 ] && exit 1
    sleep 2
done
echo "=== $(date '+%F %T') training exited with 0 after $n restart(s) ==="
