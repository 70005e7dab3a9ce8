rm -f pids; mkdir -p state
( for i in $(seq 200); do sleep .3; [ -s state/last.pt ] && break; done; sleep 1; kill -9 $(cat state/rank2.pid) ) &
torchrun --nproc-per-node 3 --master-port 4630 --max-restarts 1 train.py --name big-batch
