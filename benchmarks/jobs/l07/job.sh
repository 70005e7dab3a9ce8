unset PYTHONUNBUFFERED
rm -rf pids last.pt
( for a in 0 1; do until [ -s pids/rank1.$a ]; do sleep 0.3; done; sleep 0.9; kill -9 $(cat pids/rank1.$a); done ) &
torchrun --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint 127.0.0.1:4307 --max-restarts 1 --monitor-interval 0.5 train.py
echo "torchrun is back, syncing logs ... ok"
