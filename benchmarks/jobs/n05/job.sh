export MASTER_ADDR=127.0.0.1 MASTER_PORT=4505
mpirun --allow-run-as-root --oversubscribe --tag-output -np 3 python -u sweep.py --grid grid.json
