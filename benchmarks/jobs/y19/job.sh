#!/bin/bash
mkdir -p mnt
# the sync from the NAS runs in the background, as the queue start is usually slower
( python nas_sync.py mnt/corpus.parquet > sync.out 2>&1 ) &
torchrun --nproc-per-node=2 --max-restarts=12 --master-addr=127.0.0.1 --master-port=48119 mt_train.py
rc=$?
wait
ls -l exports 2>/dev/null | tail -n +2 | awk '{print "export:", $9}'
exit $rc
