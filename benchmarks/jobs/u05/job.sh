#!/usr/bin/env bash
export OMP_NUM_THREADS=1
python stage_features.py &          # feature sync runs beside the training
SYNC=$!
for attempt in 1 2 3; do
  echo "[retry.sh] attempt $attempt of 3"
  torchrun --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 47606 train_ctr.py
  rc=$?
  [ $rc -eq 0 ] && break
  echo "[retry.sh] torchrun exited with $rc, next attempt in 5 s"
  sleep 5
done
wait $SYNC
echo "[retry.sh] finished, rc=$rc after attempt $attempt"
[ $rc -eq 0 ] && tail -n 2 ckpt/metrics.jsonl
exit $rc
