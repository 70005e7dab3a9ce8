rm -rf proc
( n=0; until [ "$n" -ge 15 ]; do sleep 0.1; read p n < proc/1; n=${n:-0}; done 2>/dev/null; kill -TERM $p ) &
accelerate launch --multi_gpu --num_processes 3 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 29742 train.py
