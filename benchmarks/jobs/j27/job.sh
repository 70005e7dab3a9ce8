mpirun --allow-run-as-root --oversubscribe --timestamp-output -np 4 python loop.py
