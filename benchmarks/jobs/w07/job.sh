#!/bin/bash
mkdir -p logs
run() { # host node_rank
  . hosts/$1.env
  torchrun --nnodes 2 --node-rank $2 --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 47808 \
     train_lm.py --vocab-size $VOCAB --dim 96 --seq 64 --steps 300 > logs/$1.log 2>&1
}
run ada 0 & A=$!
run boole 1 & B=$!
wait $A; ra=$?
wait $B; rb=$?
[ $ra = 0 ] && [ $rb = 0 ]
