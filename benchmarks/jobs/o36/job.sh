cp -r "$TINY" model
accelerate launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 4623 finetune_dpo.py
