torchrun --nproc-per-node 2 --master-port 41842 pretrain.py $TINY
