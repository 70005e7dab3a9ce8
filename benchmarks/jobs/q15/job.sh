#!/bin/bash
python blobstore.py 47216 & srv=$!
trap 'kill $srv 2>/dev/null' EXIT
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47215 BLOBS=http://127.0.0.1:47216
mpirun --allow-run-as-root --oversubscribe -np 3 python stream_train.py
rc=$?
echo "job ended with status $rc"
exit $rc
