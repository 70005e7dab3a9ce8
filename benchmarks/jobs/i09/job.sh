python -m http.server 41109 --bind 127.0.0.1 >/dev/null 2>&1 &
DASH=$!
sleep 1
for PORT in 41109 41110 41111; do
  echo "[launch] rendezvous on port $PORT"
  if torchrun --nproc_per_node 2 --node_rank 0 --nnodes 1 --master_addr 127.0.0.1 --master_port $PORT classifier.py; then
    break
  fi
  echo "[launch] port $PORT did not work, next one"
done
kill $DASH
