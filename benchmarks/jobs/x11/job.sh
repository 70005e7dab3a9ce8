#!/bin/bash
export OMP_NUM_THREADS=1 ACCELERATE_USE_CPU=true
python make_regions.py
accelerate launch --config_file acc.yaml churn.py
