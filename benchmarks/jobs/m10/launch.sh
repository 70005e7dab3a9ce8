mkdir -p scratch/node0 scratch/node1 scratch/node2
mount -t tmpfs -o size=20m tmpfs scratch/node1
for r in 0 1 2; do
  RANK=$r WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=4410 python -u train.py 2>&1 | sed -u "s/^/node$r: /" &
done
wait
