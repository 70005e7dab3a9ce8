#!/bin/bash
export OMP_NUM_THREADS=1
python annotations.py
python fleet.py 6 47920
