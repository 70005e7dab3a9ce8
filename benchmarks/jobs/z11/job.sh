#!/bin/bash
export GLOO_SOCKET_IFNAME=lo
rm -rf beats
python watch.py
