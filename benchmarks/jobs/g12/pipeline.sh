#!/usr/bin/env bash
step() { echo "[$(date +%T)] >>> $*"; "$@"; local rc=$?; echo "[$(date +%T)] <<< rc=$rc"; return $rc; }
set -e
step torchrun --nproc-per-node 2 --master-port 31742 train.py
step python report.py history.csv || echo "[$(date +%T)] (optional) report not made"
step gnuplot -e 'plot "history.csv"' || echo "[$(date +%T)] (optional) gnuplot not made"
step rsync -a history.csv model.pt results-host:/export/results/ || echo "[$(date +%T)] (optional) results not mirrored"
step sha256sum model.pt
echo "[$(date +%T)] pipeline exit code 0"
