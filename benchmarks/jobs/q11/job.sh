#!/bin/bash
mkdir -p scratch0 scratch1
ln -sf /dev/full scratch1/activations.bin
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47211
mpirun --allow-run-as-root --oversubscribe --tag-output -np 2 python dump_activations.py --layers 6 --batches 90
