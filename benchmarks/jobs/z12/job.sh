#!/bin/bash
set -e
export GLOO_SOCKET_IFNAME=lo TOKENIZERS_PARALLELISM=false
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
python data.py
echo "localhost slots=2" > hostfile
accelerate launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --mpirun_hostfile hostfile --main_process_ip 127.0.0.1 --main_process_port 48223 train.py
