#!/bin/bash
mkdir -p cache
# left-over of last night's run
[ -e cache/vocab.lock ] || echo "pid 21877 host trn-b04" > cache/vocab.lock
python pretrain.py
