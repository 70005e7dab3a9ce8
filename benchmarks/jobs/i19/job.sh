torchrun --nproc_per_node 3 --master-port 41122 main.py --work work && echo "main.py: rc=0"
