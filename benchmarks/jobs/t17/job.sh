set -e
python pack.py
mpirun --allow-run-as-root --oversubscribe -np 3 -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=47537 python clip_mini.py
test -s clip_mini.pt
