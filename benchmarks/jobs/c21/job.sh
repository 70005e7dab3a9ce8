#!/bin/bash
# nightly run from cron
PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
chmod +x train.py
mkdir -p logs
mpirun --allow-run-as-root --oversubscribe --output-filename logs -np 2 ./train.py > logs/mpirun.txt 2>&1
