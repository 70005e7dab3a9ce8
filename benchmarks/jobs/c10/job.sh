export MASTER_PORT=29624
mpirun --allow-run-as-root --oversubscribe -np 3 python tp_train.py --dp 2 --tp 2
