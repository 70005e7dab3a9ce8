export MASTER_ADDR=127.0.0.1 MASTER_PORT=4610
mpirun --allow-run-as-root --oversubscribe -np 3 python -u main.py --data shards --epochs 3
