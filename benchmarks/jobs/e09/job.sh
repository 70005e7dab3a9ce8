export DS_ACCELERATOR=cpu
deepspeed --num_gpus 2 --master_addr 127.0.0.1 --master_port 29719 finetune.py --mix mix.json
