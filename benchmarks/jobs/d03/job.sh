set -e
python preflight.py
accelerate launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no --main_process_port 41803 train.py
echo "job finished rc=$?"
