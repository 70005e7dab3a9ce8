mkdir -p logs
for r in 0 1 2; do
  ( [ -f host$r.env ] && . ./host$r.env
    export RANK=$r WORLD_SIZE=3 MASTER_ADDR=${MASTER_ADDR:-127.0.0.1} MASTER_PORT=${MASTER_PORT:-4419}
    python -u train_tab.py > logs/host$r.out 2>&1 ) &
done
wait
