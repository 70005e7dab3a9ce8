#!/bin/bash
# memwatch.sh LIMIT_MB PID... : lab policy, shared boxes
lim=$(( $1 * 1024 )); shift
while :; do
  n=0
  for p in "$@"; do
    rss=$(awk '/VmRSS/ {print $2}' /proc/$p/status 2>/dev/null) || continue
    [ -z "$rss" ] && continue
    n=$((n+1))
    [ "$rss" -gt "$lim" ] && kill -9 $p
  done
  [ $n -eq 0 ] && exit
  sleep 0.2
done
