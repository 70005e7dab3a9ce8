export DS_ACCELERATOR=cpu
deepspeed --num_gpus 2 --master_addr 127.0.0.1 --master_port 29614 train.py --max_steps 10 > yesterday.log 2>&1
# continue yesterday's run (ckpt/), now with three workers
deepspeed --num_gpus 3 --master_addr 127.0.0.1 --master_port 29615 train.py --max_steps 20 --resume
