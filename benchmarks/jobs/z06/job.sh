#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=48211 GLOO_SOCKET_IFNAME=lo
python gen.py && python launch.py 3 finetune.py
