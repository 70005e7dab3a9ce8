#!/bin/bash
export OMP_NUM_THREADS=1
python featsrv.py & srv=$!
torchrun --nproc_per_node 3 --max_restarts 8 --monitor_interval 0.5 --master_addr 127.0.0.1 --master_port 47721 rank_model.py
rc=$?
kill $srv 2>/dev/null; wait $srv 2>/dev/null
exit $rc
