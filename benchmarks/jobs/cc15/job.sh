#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=info
python stage_base.py >/dev/null 2>&1 || exit 9
rm -rf logs; mkdir logs
for n in 0 1 2; do
  NODE_RANK=$n bash node.sh > logs/node-$n.out 2>&1 &
  P[$n]=$!
done
rc=0
for n in 0 1 2; do wait ${P[$n]} || rc=1; done
exit $rc
