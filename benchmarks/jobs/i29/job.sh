set -m
python -u gan.py --epochs 200 --world 2 &
P=$!
( while [ ! -s progress.txt ]; do sleep .2; done; sleep 4; kill -INT -- -$P ) &
wait $P
