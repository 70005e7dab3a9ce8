bash preflight.sh
torchrun --nproc-per-node 2 --master-port 31749 bench_train.py
