#!/usr/bin/env bash
export OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=47902
mkdir -p blobs
for i in 0 1 2 3; do head -c 6291456 /dev/urandom > blobs/part-0000$i.bin; done
exec mpirun --allow-run-as-root --oversubscribe -np 4 python pretrain.py --hosts hosts.ini --steps 96
