cd "$(dirname "$0")"
mkdir -p logs
MASTER_ADDR=127.0.0.1 MASTER_PORT=47118 mpirun --allow-run-as-root --oversubscribe -np 3 bash -c 'exec python gan.py > logs/rank_$OMPI_COMM_WORLD_RANK.txt 2>&1'
