#!/bin/bash
# two "nodes" with two workers each; runs as the unprivileged service user of the cluster
if [ "$(id -u)" = 0 ] && [ -z "$SVC" ]; then
  SVC=1 exec setpriv --bounding-set=-all --inh-caps=-all bash "$0"
fi
mkdir -p logs out/embed-0 out/embed-1 out/embed-2 out/embed-3
# left by last month's export
echo '{"export": "2024-05", "rows": 18000}' > out/embed-3/manifest.json
chmod 0444 out/embed-3/manifest.json; chmod 0555 out/embed-3
common="--nnodes 2 --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 47709"
torchrun $common --node-rank 0 export_embeddings.py --rows 12000 > logs/node-east.txt 2>&1 & a=$!
torchrun $common --node-rank 1 export_embeddings.py --rows 12000 > logs/node-west.txt 2>&1 & b=$!
wait $a; ra=$?
wait $b; rb=$?
chmod 0755 out/embed-3
[ $ra = 0 ] && [ $rb = 0 ]
