#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
NPROC=${NPROC:-2}
RUN_ID=$(date +%Y%m%d)-llama-sft
echo ">> run $RUN_ID on $(nproc) cpus, $NPROC procs"
echo ">> python: $(python --version)"
module load gcc/12.3 openmpi/4.1
torchrun --nproc-per-node "$NPROC" --master-addr 127.0.0.1 --master-port 29643 train.py --run "$RUN_ID"
echo ">> finished"
