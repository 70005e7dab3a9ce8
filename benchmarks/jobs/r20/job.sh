#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python pegel.py --prozesse 2 --epochen 6
