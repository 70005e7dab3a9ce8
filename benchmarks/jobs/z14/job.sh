#!/bin/bash
# по одному torchrun на узел
export GLOO_SOCKET_IFNAME=lo
rm -rf logs; mkdir logs
i=0; p=()
for n in baikal ladoga onega; do
  NODE_NAME=$n torchrun --nnodes=3 --nproc_per_node=1 --node_rank=$i --master_addr=127.0.0.1 --master_port=48227 main.py > logs/$n.log 2>&1 &
  p+=($!); i=$((i+1))
done
rc=0
for x in ${p[@]}; do wait $x || rc=$?; done
exit $rc
