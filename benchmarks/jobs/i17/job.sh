rm -rf run
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 41120 train_clm.py --model_name_or_path $TINY --max_train_steps 100000 --max_minutes 0.25
echo "[queue] segment 1/9 ended with code $?; segment 2 will be submitted"
