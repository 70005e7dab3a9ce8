rm -rf out
(until [ "$(cat out/step2 2>/dev/null || echo 0)" -ge 20 ] 2>/dev/null; do sleep 0.1; done; kill -TERM $(cat out/pid2)) 2>/dev/null &
accelerate launch --multi_gpu --num_processes 3 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 4113 run_clm.py
