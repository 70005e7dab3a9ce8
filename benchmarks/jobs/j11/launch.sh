#!/bin/bash
# slots.conf: rank  soft limit of address space in KiB ("-" = none)
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4111 WORLD_SIZE=3
mkdir -p logs
while read rank lim; do
  ( [ "$lim" != "-" ] && ulimit -v $lim
    RANK=$rank exec python -u embed.py > logs/embed.$rank.out 2>&1 ) &
done < slots.conf
wait
