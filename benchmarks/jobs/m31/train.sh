#!/bin/bash
NP=${NP:-4}
rm -f rdzv
for r in $(seq 1 $((NP - 1))); do
  python -u main.py --rank $r --world $NP --rdzv file://$PWD/rdzv > out.$r.txt 2>&1 &
done
wait
tail -n 12 out.*.txt
