mkdir -p cache
mpirun --allow-run-as-root --oversubscribe -np 3 python main.py
