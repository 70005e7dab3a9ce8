#!/bin/bash
python split_clicks.py --parts 4 --out clicks
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47816 WORLD_SIZE=4
for r in 0 1 2 3; do
  RANK=$r python ctr_train.py clicks/part$r.npy &
  P[$r]=$!
done
bad=0
for r in 0 1 2 3; do
  wait ${P[$r]}; c=$?
  codes="$codes $r:$c"
  [ $c -ne 0 ] && bad=1
done
echo "exit codes:$codes"
exit $bad
