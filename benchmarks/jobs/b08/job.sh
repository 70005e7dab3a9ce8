bash stage.sh
torchrun --nproc_per_node 3 --master_port 41718 pretrain.py
