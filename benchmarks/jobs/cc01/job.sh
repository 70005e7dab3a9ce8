#!/bin/bash
# protein MLM, short sanity pretraining on the interactive node
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
export MASTER_ADDR=127.0.0.1 MASTER_PORT=48501
python make_seqs.py
ulimit -t 16        # same setting as in /etc/security/limits.d on the interactive node
mpirun --allow-run-as-root --oversubscribe -np 3 python pretrain_mlm.py --epochs 4 --hidden 160
rc=$?
echo "pretrain_mlm finished with status $rc"
exit $rc
