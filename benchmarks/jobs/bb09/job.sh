export MASTER_ADDR=127.0.0.1 MASTER_PORT=48433
mkdir -p logs
python gen.py
ulimit -n 160
mpirun --allow-run-as-root --oversubscribe -np 2 python embed.py 2>logs/mpirun.err
