rm -rf state
( while [ ! -s state/iter3 ] || [ "$(cat state/iter3)" -lt 9 ]; do sleep 0.2; done; kill $(cat state/actor3) ) 2>/dev/null &
mpirun --allow-run-as-root --oversubscribe -np 4 python ppo.py
wait
