export DS_ACCELERATOR=cpu
torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29612 finetune.py \
  --model_name_or_path $TINY --output_dir out --use_cpu --max_steps 30 \
  --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --learning_rate 1e-4 \
  --logging_steps 2 --report_to none --deepspeed zero2.json
