#!/bin/bash
unset PYTHONUNBUFFERED
python export_shards.py
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4303 WORLD_SIZE=3
for r in 0 1 2; do
  RANK=$r python worker.py &
done
wait
echo "all workers returned"
