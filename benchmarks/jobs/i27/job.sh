torchrun --nproc_per_node 2 --master-port 41132 tune.py recipe.yaml base=$TINY
