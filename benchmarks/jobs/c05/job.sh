export DS_ACCELERATOR=cpu
deepspeed --num_gpus 2 --master_addr 127.0.0.1 --master_port 29616 main.py --max_steps 5 --save_dir scratch/ckpt > yesterday.log 2>&1
mkdir -p work && cp -r scratch/ckpt work/
truncate -s 65536 work/ckpt/global_step5/zero_pp_rank_1_mp_rank_00_optim_states.pt
# work/ckpt was brought over from scratch
deepspeed --num_gpus 2 --master_addr 127.0.0.1 --master_port 29617 main.py --max_steps 12 --resume --save_dir work/ckpt
