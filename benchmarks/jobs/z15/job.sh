#!/bin/sh
export GLOO_SOCKET_IFNAME=lo
gcc -O2 -shared -fPIC -o libfastpack.so fastpack.c || exit 1
python mkparts.py
mpirun --allow-run-as-root --oversubscribe -n 3 python pack.py
