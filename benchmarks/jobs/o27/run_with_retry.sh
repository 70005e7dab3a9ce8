#!/bin/bash
# something from an earlier session may still hold the port for a moment
python -c "
import socket,time
s=socket.socket(); s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1); s.bind(('',4627)); s.listen(); time.sleep(9)" &
sleep 1
MAX=3
for attempt in $(seq $MAX); do
  echo "[retry] attempt $attempt/$MAX"
  torchrun --nproc-per-node 2 --master-port 4627 train.py --labels labels.json && exit 0
  echo "[retry] training exited with $?, sleeping 5s"
  sleep 5
done
echo "[retry] giving up"
exit 1
