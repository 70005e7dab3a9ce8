#!/bin/bash
export MASTER_ADDR=127.0.0.1 MASTER_PORT=48217 WORLD_SIZE=4 GLOO_SOCKET_IFNAME=lo
rm -rf logs ckpt; mkdir -p logs
. ./site.conf
pids=
for r in 0 1 2 3; do
  ( eval "lim=\${FSIZE_$r:-unlimited}"; ulimit -f $lim; RANK=$r exec python fsdpish.py 2> logs/node$((r/2))-$((r%2)).err ) &
  pids="$pids $!"
done
rc=0
for p in $pids; do wait $p || rc=1; done
find logs -name '*.err' -empty -delete
exit $rc
