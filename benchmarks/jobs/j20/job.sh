torchrun --nproc-per-node 3 --master-port 4120 ppo.py 2>&1 | grep -v "^\[rank"
