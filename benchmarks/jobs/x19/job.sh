#!/bin/bash
export OMP_NUM_THREADS=1
python3 bootstrap.py && python3 main.py --resume weights
