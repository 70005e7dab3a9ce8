python prepare.py
MASTER_PORT=29712 mpirun --allow-run-as-root --oversubscribe --tag-output -np 3 python -u train.py
