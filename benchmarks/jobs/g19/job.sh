export TOKENIZERS_PARALLELISM=false
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --num_cpu_threads_per_process 1 --main_process_port 31751 train_triage.py --show 6
