export MASTER_ADDR=127.0.0.1 MASTER_PORT=29721 WORLD_SIZE=3
for r in 0 1 2; do bash worker.sh $r & done
wait
