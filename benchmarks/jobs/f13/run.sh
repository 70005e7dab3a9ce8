#!/bin/bash
set -euo pipefail
export TMPDIR=/scratch/local/${SLURM_JOB_ID:-4417102}
echo "[$(hostname -s)] preparing, TMPDIR=$TMPDIR"
WORK=$(mktemp -d)
echo "[$(hostname -s)] staging data to $WORK"
cp -r data/. "$WORK"
python train.py --data "$WORK" --epochs 2
