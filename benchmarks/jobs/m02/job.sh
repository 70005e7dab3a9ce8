rm -rf run
( until grep -q '^3,' run/metrics_1.csv 2>/dev/null; do sleep 0.2; done; kill -9 $(cat run/1.pid) ) &
torchrun --nproc-per-node 3 --master-port 4402 train.py
wait
