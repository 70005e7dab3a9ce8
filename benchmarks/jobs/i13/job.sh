bash preflight.sh && mpirun --allow-run-as-root --oversubscribe -np 2 -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=41116 python pretrain_gpt.py
