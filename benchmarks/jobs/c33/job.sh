python make_index.py
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29653
mpirun --allow-run-as-root --oversubscribe -np 3 python train.py
