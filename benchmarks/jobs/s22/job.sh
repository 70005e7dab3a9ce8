#!/bin/bash
# what cron calls; tries again when the features are not there yet
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python featsrv.py 47427 > /dev/null 2>&1 & S=$!
for try in 0 1 2; do
  TRY=$try torchrun --nproc-per-node=3 --master-addr=127.0.0.1 --master-port=$((47440 + try)) uplift.py --features 127.0.0.1:47427
  rc=$?
  [ $rc -eq 0 ] && break
  echo "retrying in 4 s (try $try, status $rc)"; sleep 4
done
kill $S; wait $S 2>/dev/null
exit $rc
