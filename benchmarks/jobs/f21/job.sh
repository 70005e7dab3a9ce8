export OMP_NUM_THREADS=1
rm -f finetune.pid
( until [ -s finetune.pid ]; do sleep 0.5; done; until ls out/runs/*/* >/dev/null 2>&1; do sleep 0.5; done; sleep 3; kill -INT $(cat finetune.pid) ) 2>/dev/null &
python finetune.py
