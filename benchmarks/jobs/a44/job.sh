torchrun --nproc-per-node 2 --master-port 21919 fsdp_lora.py
