#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 MASTER_PORT=47412 WORLD_SIZE=4
mkdir -p logs
python pack_records.py
for r in 0 1 2 3; do
  RANK=$r python train_rec.py data/events.$r.rec >logs/trainer-$r.out 2>&1 &
done
# first one that fails takes the others with it (after a grace time)
rc=0
for n in 1 2 3 4; do
  wait -n || { rc=$?; break; }
done
if [ $rc -ne 0 ]; then sleep 4; kill $(jobs -p) 2>/dev/null; fi
wait
exit $rc
