#!/bin/bash
# jeder Knoten hat sein eigenes site-Verzeichnis
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
M="-x OMP_NUM_THREADS -x GLOO_SOCKET_IFNAME -x MASTER_ADDR=127.0.0.1 -x MASTER_PORT=47410"
python korpus.py
mpirun --allow-run-as-root --oversubscribe --tag-output \
  $M -np 1 -x PYTHONPATH=site/n0 python lm.py : $M -np 1 -x PYTHONPATH=site/n1 python lm.py : $M -np 1 -x PYTHONPATH=site/n2 python lm.py
