#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p logs
python fetch.py manifest.csv || exit 1
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47716 WORLD_SIZE=5
for i in 0 1 2 3 4; do RANK=$i python -W ignore cls_train.py > logs/rank_$i.txt 2>&1 & pid[$i]=$!; done
rc=0; for i in 0 1 2 3 4; do wait ${pid[$i]} || rc=$((rc+1)); done
exit $((rc>0))
