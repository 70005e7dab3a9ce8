#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
# the agent's own restart needs the old port, a plain retry does not
for TRY in 0 1 2; do
  export TRY
  torchrun --nproc-per-node=3 --master-port=$((48528 + TRY)) ctr_train.py && break
  echo "$(date '+%H:%M:%S') ctr-nightly: attempt $TRY ended with status $?, next attempt in 2 s"
  sleep 2
done
[ -f export/model.pt ] || exit 1
echo "$(date '+%H:%M:%S') ctr-nightly: export/model.pt $(stat -c %s export/model.pt) bytes, published"
