#!/bin/sh
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python first_leg.py            # stands for yesterday's allocation
rm -rf logs; mkdir logs
python launch.py --nprocs 4 --port 48516 --logdir logs -- resume_train.py --ckpt runs/gpt-mini/step_000800
