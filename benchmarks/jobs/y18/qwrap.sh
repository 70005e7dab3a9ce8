#!/bin/bash
# qwrap - tiny stand-alone batch wrapper for the workstation pool
q=default; w=3600; N=job
while [ $# -gt 0 ]; do case $1 in -q) q=$2; shift 2;; -w) w=$2; shift 2;; -N) N=$2; shift 2;; --) shift; break;; esac; done
echo "qwrap: start $N queue=$q walltime=${w}s host=$(hostname)"
"$@" &
pid=$!
( for ((i = 0; i < w; i++)); do sleep 1; kill -0 $pid 2>/dev/null || exit; done
  echo "qwrap: $N: walltime ${w}s used up, sending SIGTERM to $pid" >&2; kill -TERM $pid ) &
timer=$!
wait $pid; rc=$?
wait $timer
echo "qwrap: end $N rc=$rc"
exit $rc
