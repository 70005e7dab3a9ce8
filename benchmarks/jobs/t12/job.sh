#!/bin/bash
export TP=2 PP=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=47521
mpirun --allow-run-as-root --oversubscribe -n 4 bash -c 'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE exec python pipe_lm.py --layers 24'
