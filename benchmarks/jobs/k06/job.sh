mpirun --allow-run-as-root --oversubscribe --tag-output -np 3 python pretrain.py
