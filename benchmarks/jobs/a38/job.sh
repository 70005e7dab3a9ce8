(bash run_node.sh 2>&1 | sed -u 's/^/node-a: /') &
sleep 2
(bash run_node.sh 2>&1 | sed -u 's/^/node-b: /') &
wait
