export DS_ACCELERATOR=cpu
deepspeed --hostfile hostfile --master_addr 127.0.0.1 --master_port 29648 train.py --deepspeed_config ds.json
