#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47715 GLOO_SOCKET_IFNAME=lo
mpirun --allow-run-as-root --oversubscribe --tag-output -np 4 python vae.py conf.ini
