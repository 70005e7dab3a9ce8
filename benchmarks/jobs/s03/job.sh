#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
mpirun --allow-run-as-root --oversubscribe -np 4 -x OMP_NUM_THREADS -x GLOO_SOCKET_IFNAME \
   -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=47403 python charlm.py run=ru-news profile=conf/base.ini local=conf/local-%r.ini
