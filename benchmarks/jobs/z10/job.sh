#!/bin/bash
export GLOO_SOCKET_IFNAME=lo
mkdir -p leases
bash housekeeping.sh >/dev/null 2>&1 & hk=$!
python run_slots.py; rc=$?
kill $hk 2>/dev/null
wait
exit $rc
