#!/bin/bash
# one worker per machine file, logs collected in logs/
mkdir -p logs
rc=0; declare -a P
for f in hosts/*.sh; do
  ( . $f; exec python -W ignore segm.py ) &> logs/$(basename $f .sh).out & P+=($!)
done
for p in ${P[@]}; do wait $p || rc=1; done
exit $rc
