ACCELERATE_USE_CPU=true accelerate launch --multi_gpu --num_processes 3 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 4523 --tee 3 --log_dir lg run_clm.py
