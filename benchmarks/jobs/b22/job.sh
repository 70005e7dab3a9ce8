bash split.sh
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --main_process_port 41732 train.py
