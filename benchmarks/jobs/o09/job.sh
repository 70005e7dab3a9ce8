export DS_ACCELERATOR=cpu
cp -r "$TINY" ckpt
torchrun --nproc-per-node 2 --master-port 4609 run_clm.py --model_name ckpt --output_dir out --per_device_train_batch_size 4 --gradient_accumulation_steps 4 --learning_rate 2e-5 --max_steps 20 --report_to none --use_cpu --deepspeed ds_zero2.json
