export PYTHONUNBUFFERED=1
rm -f pids
( until [ -f pids ] && [ -f steps ] && [ $(wc -l < steps) -ge 9 ]; do sleep 0.2; done; for p in $(cat pids); do kill -USR1 $p; done ) &
mpirun --allow-run-as-root --oversubscribe -np 3 -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=31754 python diffusion.py
echo "mpirun exit status $?"
