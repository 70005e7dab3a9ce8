export TOKENIZERS_PARALLELISM=false
torchrun --nproc_per_node=2 --master_addr=127.0.0.1 --master_port=47545 hf_lm.py --output_dir out --max_steps 120 --logging_steps 1 --save_steps 60 --per_device_train_batch_size 4 --learning_rate 5e-3 --report_to none --use_cpu --disable_tqdm true --ddp_backend gloo --save_total_limit 1 --dataloader_pin_memory false
