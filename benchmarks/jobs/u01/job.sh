#!/usr/bin/env bash
# Mehrziel-Training (Klassifikation + Regression), lokaler Lauf
set -e
export OMP_NUM_THREADS=1 ACCELERATE_USE_CPU=true
torchrun --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 47603 train_multitask.py \
    --epochs 3 --aux-weight 0.0
echo "Lauf beendet, Ergebnisse in out/"
