#!/bin/bash
export OMP_NUM_THREADS=1
status=0
for h in amsel drossel fink; do
  python -m trainer hosts/$h.yaml &
done
for j in $(jobs -p); do wait $j || status=$?; done
exit $status
