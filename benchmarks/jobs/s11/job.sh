#!/bin/bash
# three local ranks, every rank has a cpu budget (shared workstation)
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 MASTER_PORT=47411 WORLD_SIZE=3
status=0
for r in 0 1 2; do bash run_rank.sh $r & pids="$pids $!"; done
for p in $pids; do wait $p; s=$?; [ $s -ne 0 ] && { echo "job.sh: child $p returned $s"; status=$s; }; done
exit $status
