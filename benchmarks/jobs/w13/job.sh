#!/bin/bash
mkdir -p logs
set -a; . ./cluster.env; set +a
i=0; pids=""
for host in gn01 gn02 gn03; do
  ( export RANK=$i HOST_ALIAS=$host; exec python segtrain.py > logs/$host.out 2>&1 ) &
  pids="$pids $!"; i=$((i+1))
done
st=0
for p in $pids; do wait $p || st=$?; done
exit $st
