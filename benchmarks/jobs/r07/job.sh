#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo DS_ACCELERATOR=cpu
echo "[stage] tokens";   python tokens.py || exit 2
echo "[stage] pretrain"
torchrun --nnodes 1 --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 47305 pretrain.py --ds ds_zero1.json --iters 60
st=$?
echo "[stage] report"
python report.py
exit $st
