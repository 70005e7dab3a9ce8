#!/bin/bash
# 3 proc, un journal par rang
rm -rf logs && mkdir logs
python shards.py
python lanceur.py -n 3 --port 47604 train.py --epochs 2
