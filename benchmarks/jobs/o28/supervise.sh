#!/bin/bash
rm -f w1.pid
( while ! grep -qs . ckpt.step; do sleep .3; done; sleep 1.5; kill -9 $(cat w1.pid) ) &
n=0
until torchrun --nproc-per-node 2 --master-port 4628 worker.py --steps 60; do
  n=$((n+1)); echo "$(date +%H:%M:%S) supervise: trainer ended with an error, restart #$n"
  [ $n -ge 4 ] && { echo "supervise: too many restarts"; exit 1; }
  sleep 2
done
echo "$(date +%H:%M:%S) supervise: trainer finished after $n restart(s)"
