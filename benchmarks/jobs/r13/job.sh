#!/bin/bash
# two phases, live dashboard beside them
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
BASE=47320
python dashboard.py --port $((BASE+1)) --dir runs &
DASH=$!
trap 'kill $DASH 2>/dev/null; wait $DASH 2>/dev/null' EXIT
sleep 1
fail=0
for phase in 0 1; do
  echo "---- phase $phase ----"
  torchrun --nproc_per_node=2 --master_addr=127.0.0.1 --master_port=$((BASE+phase)) phase.py --phase $phase --steps 60 || { fail=$?; }
  python tail_dashboard.py --port $((BASE+1))
done
echo "---- runs ----"; ls runs
exit $fail
