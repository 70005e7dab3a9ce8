ulimit -v 8000000
torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29637 run_pretrain.py --model $TINY
