rm -rf workers
( until [ "$(cat workers/step 2>/dev/null)" -ge 40 ] 2>/dev/null; do sleep 0.1; done; kill -9 $(cat workers/1.0) ) &
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 29718 train.py
