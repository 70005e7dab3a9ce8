#!/bin/bash
# walltime watch: USR1 to the ranks shortly before the end
pids=()
for r in 0 1 2; do
  RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r MASTER_ADDR=127.0.0.1 MASTER_PORT=4226 python -u pretrain.py 2>&1 | sed -u "s/^/$r: /" &
done
until [ -s pid.0 ] && [ -s pid.1 ] && [ -s pid.2 ]; do sleep 0.5; done; sleep 8
echo "pretrain.sh: 14 s walltime nearly used up, signalling"
kill -USR1 $(cat pid.*)
wait
echo "pretrain.sh: requeue requested, next segment continues from seg.pt"
exit 0
