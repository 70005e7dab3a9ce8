torchrun --nproc_per_node=3 --master_port=41716 train_lora.py
