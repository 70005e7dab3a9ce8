#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47815 TORCH_DISTRIBUTED_DEBUG=INFO
mpirun --allow-run-as-root --oversubscribe -n 5 python multitask.py --langs de,fr,pl,cs,sv
