rm -rf work
python supervisor.py -- mpirun --allow-run-as-root --oversubscribe -np 3 python -u worker.py
