#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
mkdir -p pids
bash fair_use.sh pids > /dev/null 2>&1 &
torchrun --nproc_per_node=3 --master_addr=127.0.0.1 --master_port=47418 gnn.py
rc=$?
kill %1 2>/dev/null; wait %1 2>/dev/null
exit $rc
