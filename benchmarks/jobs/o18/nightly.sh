#!/bin/bash
# nightly regression: train a little, then evaluate
BUDGET=${BUDGET:-20}
echo "=== nightly: train"
python train.py || exit 1
echo "=== nightly: evaluate (budget ${BUDGET}s)"
timeout $BUDGET python -u evaluate.py --ckpt model.pt
rc=$?
echo "=== nightly: evaluate returned $rc"
exit $rc
