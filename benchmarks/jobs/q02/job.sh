#!/bin/bash
python mkfeatures.py || exit 1
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47202
mpirun --allow-run-as-root --oversubscribe -np 3 python train_ranker.py features
