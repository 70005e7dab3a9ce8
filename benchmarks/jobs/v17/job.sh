#!/bin/bash
# policy training, 3 learners; see README
export OMP_NUM_THREADS=1
mkdir -p run
python housekeeping.py &
hk=$!
torchrun --nproc_per_node=3 --master_addr=127.0.0.1 --master_port=47757 learner.py
rc=$?
kill $hk 2>/dev/null; wait $hk 2>/dev/null
exit $rc
