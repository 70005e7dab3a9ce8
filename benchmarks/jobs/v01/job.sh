#!/bin/bash
# contrastive pretraining of the product tower, one worker per box
export OMP_NUM_THREADS=1
torchrun --nproc-per-node 4 --master-addr 127.0.0.1 --master-port 47701 train_tower.py --epochs 3 --batch 64 --lr 3e-3
