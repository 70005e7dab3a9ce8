( until [ "$(cat run/worker1.upd 2>/dev/null)" = 7 ]; do sleep 0.2; done; kill -9 $(cat run/worker1.pid) ) &
export MASTER_PORT=29632
mpirun --allow-run-as-root --oversubscribe -np 3 python ppo.py
