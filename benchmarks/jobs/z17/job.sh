#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=48233 WORLD_SIZE=3 GLOO_SOCKET_IFNAME=lo
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
for r in 2 1 0; do RANK=$r python run.py & done
for k in 1 2 3; do wait -n || { echo "job.sh: a process failed with status $?"; bad=1; }; [ -n "$bad" ] && [ $k -ge 2 ] && break; done
exit ${bad:-0}
