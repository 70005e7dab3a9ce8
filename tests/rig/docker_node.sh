#!/bin/bash
# Starts a Docker engine of this node's own, inside a node of the rig: docker_node.sh [dockerd's further words]
# Everything of it lies below /run, which is the node's tmpfs: overlay2 does not work on the node's own overlay.
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DOCKER_RAMDISK=1
place=/run/docker-engine
mkdir -p $place
setsid dockerd --data-root $place/data --exec-root $place/exec --pidfile $place/pid \
  -H unix:///var/run/docker.sock --storage-driver overlay2 --iptables=false --bridge=none \
  --exec-opt native.cgroupdriver=cgroupfs "$@" >/tmp/dockerd.log 2>&1 </dev/null &
for _ in $(seq 200); do
  if docker version >/dev/null 2>&1; then exit 0; fi
  sleep 0.1
done
tail -20 /tmp/dockerd.log >&2
exit 1
