#!/bin/bash
# feature join for the CTR model
ulimit -n 256            # same as on the batch hosts
python gen_shards.py --n 420 --dir shards
python join_and_fit.py --shards shards --epochs 2
rc=$?
echo "[wrap] collecting metrics"
python collect.py
echo "[wrap] finished"
exit $rc
