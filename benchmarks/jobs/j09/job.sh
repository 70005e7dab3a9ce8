rm -rf run
(until [ "$(cat run/1.it 2>/dev/null || echo 0)" -ge 8 ] 2>/dev/null; do sleep 0.05; done; kill -9 $(cat run/worker_1_0.pid)) 2>/dev/null &
torchrun --nproc-per-node 2 --master-port 4109 train.py
