rm -rf cache
( until [ "$(cat cache/proc0/step 2>/dev/null || echo 0)" -ge 12 ] 2>/dev/null; do sleep 0.2; done; kill -9 $(cat cache/proc0/w1.pid) ) 2>/dev/null &
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 4409 train.py
wait
