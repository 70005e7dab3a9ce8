# continue after yesterday's aborted run
mkdir -p cache; touch -d yesterday cache/idx_1.npy.lock
mpirun --allow-run-as-root --oversubscribe -np 3 python retriever.py
