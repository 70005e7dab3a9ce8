#!/bin/bash
# GRPO-Spielzeug: Rollouts über einen eigenen HTTP-Server, Training im Hauptprozess
export OMP_NUM_THREADS=1
python grpo.py --server-port 48525 --iterations 12 --rollouts 24
exit $?
