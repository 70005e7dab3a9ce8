export DS_ACCELERATOR=cpu
deepspeed --num_gpus 3 --master_port 4414 train_mlm.py --seq_len 128
