#!/bin/bash
OMP_NUM_THREADS=1 python amp_train.py --world 2 --steps 240 --port 47612
