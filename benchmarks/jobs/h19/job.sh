rm -f worker*.pid worker*.round
( for i in $(seq 300); do
    n=$(cat worker2.round 2>/dev/null); if [ "${n:-0}" -ge 7 ]; then kill -TERM $(cat worker2.pid); break; fi
    sleep 0.2
  done ) &
mpirun --allow-run-as-root --oversubscribe -np 4 python jobmain.py
