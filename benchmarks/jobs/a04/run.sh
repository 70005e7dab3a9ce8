#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=21632 WORLD_SIZE=3
for r in 0 1 2; do
  RANK=$r LOCAL_RANK=$r python -u pretrain.py &
done
wait
echo "all ranks are done"
