#!/bin/bash
export GLOO_SOCKET_IFNAME=lo
mpirun --allow-run-as-root --oversubscribe --tag-output -np 3 python head_first.py
