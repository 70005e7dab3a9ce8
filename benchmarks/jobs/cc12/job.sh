#!/bin/bash
export OMP_NUM_THREADS=1
python sweep.py --trials 9 --jobs 2 && cat best.json
