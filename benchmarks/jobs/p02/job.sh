#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p work/ckpt work/export
ln -sf /dev/full work/export/embeddings.f32
log() { echo "[$(date +%H:%M:%S)] [run_all] $*"; }
log "stage 1/3: build ratings"
python stages.py ratings
log "stage 2/3: factorise"
python stages.py factorise --resume
log "stage 3/3: export"
python stages.py export
log "all stages finished"
