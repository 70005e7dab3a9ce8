python encode.py
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29834 WORLD_SIZE=3
for host in 0 1 2; do
  RANK=$host DATA=enc/$host.jsonl python train.py 2>&1 | sed -u "s/^/gpu-$host: /" &
done
wait
