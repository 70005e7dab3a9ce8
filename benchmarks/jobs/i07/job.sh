ulimit -v 2600000
accelerate launch --num_processes 1 --num_machines 1 --cpu --mixed_precision no --dynamo_backend no main.py --start-batch 1048576
