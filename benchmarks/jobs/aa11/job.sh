#!/bin/bash
# mpirun start script, see wiki "small cluster"
mpirun --allow-run-as-root --oversubscribe -np 3 -x GLOO_SOCKET_IFNAME bash -c 'python gan.py 2>&1 | sed "s/^/n$OMPI_COMM_WORLD_RANK> /"; exit ${PIPESTATUS[0]}'
