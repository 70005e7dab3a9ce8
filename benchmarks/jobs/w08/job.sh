#!/bin/bash
set -e
python warmstart.py store/ckpt_e12.pt
mkdir -p work
# stage-in from the store to the work area
dd if=store/ckpt_e12.pt of=work/ckpt_e12.pt bs=128k count=20
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47809
mpirun --allow-run-as-root --oversubscribe -n 4 python continue_unet.py --resume work/ckpt_e12.pt
