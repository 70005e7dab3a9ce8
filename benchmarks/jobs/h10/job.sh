rm -rf run
( for i in $(seq 300); do
    n=$(cat run/progress-1 2>/dev/null); if [ "${n:-0}" -ge 8 ]; then kill -9 $(cat run/loader-1-0.pid); break; fi
    sleep 0.2
  done ) &
torchrun --nproc-per-node 2 --master-port 29820 train.py
