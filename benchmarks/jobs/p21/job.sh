#!/bin/bash
cd "$(dirname "$0")"
LOGTAG="nightly[$$]"
must() { echo "$LOGTAG: BEGIN $1"; shift; "$@" || { echo "$LOGTAG: FATAL"; exit 1; }; }
may()  { echo "$LOGTAG: BEGIN $1 (optional)"; local n=$1; shift; "$@" || echo "$LOGTAG: ERROR: optional stage $n failed with status $?, continuing"; }
must features python steps.py features
may  profile  nvtop-report --last 24h
must train    torchrun --nproc_per_node 2 --master_port 47121 ddp_train.py
may  plots    python steps.py plots
may  quantise python steps.py quantise
may  upload   timeout 3 python steps.py upload
must verify   python steps.py verify
echo "$LOGTAG: ALL MANDATORY STAGES OK"
