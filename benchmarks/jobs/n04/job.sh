ulimit -v 14000000
accelerate launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 4504 autobatch.py
