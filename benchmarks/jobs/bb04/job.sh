torchrun --master_port 48413 --nproc_per_node 2 finetune.py 
