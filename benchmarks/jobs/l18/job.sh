#!/bin/bash
unset PYTHONUNBUFFERED
mkdir -p reports
echo "[$(date +%T)] node $(uname -s), torch $(python -c 'import torch; print(torch.__version__)')"
echo "[$(date +%T)] profiling 20 steps on 2 ranks"
nsys profile -o reports/ddp --trace=osrt torchrun --nproc-per-node 2 --master-port 4318 train.py
echo "[$(date +%T)] profiling done"
python summarize.py
tar czf reports.tgz reports && echo "[$(date +%T)] packed reports.tgz"
echo "[$(date +%T)] All done."
