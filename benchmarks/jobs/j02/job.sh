rm -rf run
(until [ "$(cat run/2.it 2>/dev/null || echo 0)" = 3 ]; do sleep 0.05; done; kill -9 $(cat run/2.pid)) 2>/dev/null &
mpirun --allow-run-as-root --oversubscribe --tag-output -np 4 python pretrain.py
