set -m
python -u trainer.py & pid=$!
( until [ -f .step5 ]; do sleep .2; done; kill -INT -$pid ) &
wait $pid; rc=$?
echo "trainer.py returned $rc"
