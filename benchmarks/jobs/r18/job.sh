#!/bin/bash
set -u
python origin.py 47347 & O=$!
trap 'kill $O 2>/dev/null; wait $O 2>/dev/null' EXIT
python pull.py --url http://127.0.0.1:47347 --parts 24 --dest dl || exit 1
python train_gbm.py dl
