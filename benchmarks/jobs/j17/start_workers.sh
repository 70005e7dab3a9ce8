#!/bin/bash
# worker env files: env/worker<N>
for f in env/worker*; do
  ( set -a; . $f; set +a; exec python -u main.py ) &
done
wait
