rm -f main.pid episode
( for i in $(seq 300); do
    n=$(cat episode 2>/dev/null); if [ "${n:-0}" -ge 11 ]; then kill -INT -- -$(cat main.pid); break; fi
    sleep 0.2
  done ) &
setsid -w python train_rl.py
