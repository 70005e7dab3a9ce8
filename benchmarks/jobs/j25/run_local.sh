#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4125
GROUP=3
# head
RANK=0 WORLD_SIZE=$((GROUP + 1)) python -u learner.py &
# the others
for r in 1 2; do RANK=$r WORLD_SIZE=$GROUP python -u learner.py & done
wait
