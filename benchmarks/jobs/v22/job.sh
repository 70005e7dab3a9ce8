#!/bin/bash
set -e
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47722
python clips.py
mpirun --allow-run-as-root --oversubscribe -np 3 python tts.py
ls -l voice.pt | awk '{print $5, $9}'
