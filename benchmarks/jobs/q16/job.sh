#!/bin/bash
# node 1 is booted by the autoscaler and comes later
mkdir -p logs
run() { python node.py --me $1 --of 2 >> logs/node$1.txt 2>&1; }
run 0 & a=$!
( echo "$(date +%T) autoscaler: instance requested" >> logs/node1.txt; sleep 16; run 1 ) & b=$!
wait $a; ra=$?; wait $b; rb=$?
exit $(( ra | rb ))
