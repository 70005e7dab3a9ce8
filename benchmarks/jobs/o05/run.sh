#!/bin/bash
set -euo pipefail
echo "[run.sh] $(date -u +%H:%M:%S) host=$(uname -s) python=$(python -V 2>&1)"
echo "[run.sh] staging data to local scratch"
STAGE=$(mktemp -d -t stage.XXXXXX)
cp -r data "$STAGE/"
echo "[run.sh] staged in $STAGE"
torchrun --nproc-per-node 2 --master-port 4605 train.py --data "$STAGE/data"
