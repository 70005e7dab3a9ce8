#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python make_corpus.py
torchrun --standalone --nproc-per-node=3 cli.py fit --data corpus --bs 16 --max-epochs 2
