#!/usr/bin/env bash
mkdir -p state
python featstore.py 47530 state &
FS=$!
trap "kill $FS 2>/dev/null; wait $FS 2>/dev/null" EXIT
for try in 1 2 3; do
  export ATTEMPT=$try
  torchrun --nproc_per_node=3 --master-addr=127.0.0.1 --master-port=$((47530 + try)) rank_items.py && exit 0
  echo "torchrun ended with $? in attempt $try of 3, starting again from the last state"
done
echo "no attempts left"
exit 1
