#!/bin/bash
export OMP_NUM_THREADS=1
python sensors.py
deepspeed --num_gpus 3 --master_port 47915 forecast.py --windows windows --epochs 3
