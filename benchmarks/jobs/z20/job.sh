#!/bin/bash
set -e
export GLOO_SOCKET_IFNAME=lo
python mkshards.py
python embed.py
ls -1 shards/*.vec.pt
