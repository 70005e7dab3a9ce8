#!/bin/bash
# four "nodes"; the fourth gets its disk image late most mornings
mkdir -p logs
P=""
for i in 0 1 2; do NODE=$i python node_main.py > logs/node$i.out 2> logs/node$i.err & P="$P $!"; done
( sleep 13; NODE=3 exec python node_main.py ) > logs/node3.out 2> logs/node3.err & P="$P $!"
rc=0; for p in $P; do wait $p || rc=1; done
exit $rc
