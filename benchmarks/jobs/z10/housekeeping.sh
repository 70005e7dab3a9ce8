#!/bin/bash
# crond entry of the cluster image: end user processes without a fresh lease
while sleep 4; do
  for f in leases/*; do
    [ -s "$f" ] || continue
    age=$(( $(date +%s) - $(stat -c %Y "$f") ))
    [ $age -gt 8 ] && kill -TERM "$(cat $f)" && rm -f "$f"
  done
done
