bash preflight.sh || { echo "环境检查未通过，退出"; exit 1; }
torchrun --nproc-per-node 2 --master-port 4517 train.py
