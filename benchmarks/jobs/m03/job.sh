python split.py
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4403
mpirun --allow-run-as-root --oversubscribe -np 4 --tag-output python finetune.py
