bash check_node.sh
torchrun --nproc-per-node 2 --master-port 4214 training.py
