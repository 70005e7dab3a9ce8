mkdir -p results
unshare -m bash -c 'mount -t tmpfs -o size=30m tmpfs results && accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 29634 train_ae.py'
