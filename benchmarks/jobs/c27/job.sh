export DS_ACCELERATOR=cpu
set -m
deepspeed --num_gpus 2 --master_addr 127.0.0.1 --master_port 29647 train.py --deepspeed_config ds.json &
P=$!
( until [ -e .step ]; do sleep 0.3; kill -0 $P 2>/dev/null || exit; done; kill -INT -- -$P ) &
wait $P
