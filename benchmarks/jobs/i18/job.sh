torchrun --nproc_per_node=2 --master_port=41121 fit.py
