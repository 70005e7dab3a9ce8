cd "$(dirname "$0")"
python prepare_state.py
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47103
mpirun --allow-run-as-root --oversubscribe -np 3 python -m wavenet_lite.main --resume auto --run-dir runs/exp_031
