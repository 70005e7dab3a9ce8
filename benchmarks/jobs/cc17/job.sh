#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
torchrun --nproc_per_node=2 --master_port 48551 eval_triage.py --show 6 2>&1 | tee eval.txt
test "${PIPESTATUS[0]}" = 0 && grep -q "^macro-F1" eval.txt
