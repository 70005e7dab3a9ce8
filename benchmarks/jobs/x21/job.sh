#!/bin/bash
export OMP_NUM_THREADS=1
torchrun --nproc_per_node=3 --master_port=47921 fit.py &
main=$!
bash node_guard.sh $main 800 >/dev/null 2>&1 &
guard=$!
wait $main; rc=$?
kill $guard 2>/dev/null; wait $guard 2>/dev/null
exit $rc
