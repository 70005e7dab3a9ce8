export DS_ACCELERATOR=cpu
deepspeed --num_gpus 2 --master_addr 127.0.0.1 --master_port 29611 train.py --model $TINY --deepspeed_config ds_config.json
