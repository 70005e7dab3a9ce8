export PYTHONUNBUFFERED=1
mpirun --allow-run-as-root --oversubscribe --tag-output -np 2 -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=31741 python train_ppo.py
