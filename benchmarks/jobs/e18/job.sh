mkdir -p logs
export MASTER_ADDR=localhost MASTER_PORT=29738
launch() { RANK=$1 WORLD_SIZE=$2 python -u -m seq.train --steps 20 > logs/rank_$1.log 2>&1 & }
launch 0 3
launch 1 3
launch 2 4
wait
