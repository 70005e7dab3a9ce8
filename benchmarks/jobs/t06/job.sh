#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47511
python stage_data.py
mpirun --allow-run-as-root --oversubscribe -np 4 --tag-output python asr_train.py
