#!/usr/bin/env bash
# 1. Lauf wird vom Nachtfenster beendet, 2. Lauf setzt fort
export OMP_NUM_THREADS=1
mkdir -p ckpt
torchrun --nproc_per_node=2 --master_port=47620 gru.py --steps 60 --save-every 20
# Sicherung vom Fileserver: die letzte Datei kam nur zum Teil an
head -c 9000 ckpt/step_00060.pt > ckpt/.part && mv ckpt/.part ckpt/step_00060.pt
torchrun --nproc_per_node=2 --master_port=47620 gru.py --steps 120 --save-every 20
rc=$?
ls ckpt
exit $rc
