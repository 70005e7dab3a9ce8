export DS_ACCELERATOR=cpu
torchrun --nproc_per_node 3 --master_addr 127.0.0.1 --master_port 47525 sft_ds.py --deepspeed --deepspeed_config ds_zero1.json
