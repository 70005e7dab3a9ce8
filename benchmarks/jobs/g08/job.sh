ulimit -v 9000000
export PYTHONUNBUFFERED=1
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --num_cpu_threads_per_process 1 --main_process_port 31709 train_auto_bs.py
echo "exit: $?"
