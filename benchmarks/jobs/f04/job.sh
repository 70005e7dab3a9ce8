export OMP_NUM_THREADS=1
python prepare_model.py > /dev/null 2>&1
accelerate launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 29631 train.py
