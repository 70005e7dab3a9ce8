#!/bin/bash
PORT=29777
for attempt in 1 2 3 4 5; do
  echo $attempt > .attempt
  echo "[run.sh] attempt $attempt (port $PORT)"
  python launch.py -n 2 -p $PORT train.py
  rc=$?
  [ $rc -eq 0 ] && { echo "[run.sh] success on attempt $attempt"; exit 0; }
  echo "[run.sh] attempt $attempt failed with exit code $rc, retrying in 3 s"
  sleep 3
done
echo "[run.sh] giving up"; exit 1
