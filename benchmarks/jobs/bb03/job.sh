ulimit -f 9000
export MASTER_ADDR=127.0.0.1 MASTER_PORT=48409
mkdir -p logs ckpt
mpirun --allow-run-as-root --oversubscribe -np 2 python pretrain.py
