#!/bin/bash
unset PYTHONUNBUFFERED
W=4
for r in 0 1 2 3; do
  python worker.py --rank $r --world $W --port 4321 &
  pids[$r]=$!
done
( sleep 20; kill -9 ${pids[2]} ) &
for r in 0 1 2 3; do
  wait ${pids[$r]}; echo "actor $r returned $?"
done
echo "plotting returns -> returns.png"
