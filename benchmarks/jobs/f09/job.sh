export OMP_NUM_THREADS=1
python run_clm.py --model_name_or_path "$TINY" --attn_implementation flash_attention_2 --output_dir out --use_cpu true --per_device_train_batch_size 2 --report_to none
