mkdir -p models && cp -r $TINY models/tiny-llama-base
accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --main_process_port 41719 train.py
