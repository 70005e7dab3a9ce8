. ./env.sh
torchrun --nproc-per-node 2 --master-port 21849 train.py
