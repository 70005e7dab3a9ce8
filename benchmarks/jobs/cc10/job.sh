#!/bin/bash
export OMP_NUM_THREADS=1
make --no-print-directory -j2 features.pt
