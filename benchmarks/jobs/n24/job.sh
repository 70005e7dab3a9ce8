MASTER_ADDR=localhost MASTER_PORT=4524 mpirun --allow-run-as-root --oversubscribe -np 2 python -u train.py --watchdog 3
