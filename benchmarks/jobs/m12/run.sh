# one process per "machine"; each has its own site dir
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4412 WORLD_SIZE=3
i=0
for site in env-b env-b env-a; do
  RANK=$i PYTHONPATH=$PWD/$site python -u pretrain.py --config config.yaml &
  i=$((i+1))
done
wait
