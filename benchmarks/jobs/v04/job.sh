#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
mkdir -p corpus
python mkdata.py
# part 2 lies on the archive tier, stage it through a pipe at its bandwidth
rm -f corpus/part-2.bin; mkfifo corpus/part-2.bin
python archive_cat.py corpus/archive-2.bin corpus/part-2.bin &
cat_pid=$!
python pretrain.py --nprocs 3
rc=$?
kill $cat_pid 2>/dev/null; wait $cat_pid 2>/dev/null
exit $rc
