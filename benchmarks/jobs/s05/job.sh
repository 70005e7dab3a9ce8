#!/bin/bash
# starts the nodes as the systemd units would do, all of them here on localhost
set -o pipefail
cd "$(dirname "$0")"
rcs=()
for n in worker-a worker-b worker-c; do
  ( ./node_up.sh $n 2>&1 | sed "s/^/$n: /"; exit ${PIPESTATUS[0]} ) &
  rcs+=($!)
done
bad=0
for p in "${rcs[@]}"; do wait $p || bad=$((bad+1)); done
[ $bad -eq 0 ] && echo "all nodes finished" || { echo "$bad of ${#rcs[@]} nodes failed"; exit 1; }
