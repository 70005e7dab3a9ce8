#!/bin/bash
export OMP_NUM_THREADS=1
python fleet.py inventory.json
