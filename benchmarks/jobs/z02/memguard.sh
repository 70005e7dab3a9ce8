#!/bin/bash
# node policy: no process of a job may go beyond the limit (kB)
limit=$1
while sleep 0.5; do
  for f in run/rank*.pid; do
    p=$(cat "$f" 2>/dev/null) || continue
    rss=$(awk '/VmRSS/{print $2}' /proc/$p/status 2>/dev/null)
    [ -n "$rss" ] && [ "$rss" -gt "$limit" ] && kill -9 "$p" && exit 0
  done
done
