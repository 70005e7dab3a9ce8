#!/bin/bash
# each "node" has its own start file, as on the cluster; logs/<node>.log
mkdir -p logs; rc=0
for n in a b c; do bash start_node_$n.sh > logs/node-$n.log 2>&1 & p[${#p[@]}]=$!; done
for q in ${p[@]}; do wait $q || rc=1; done
exit $rc
