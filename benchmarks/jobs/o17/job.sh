( for i in $(seq 120); do sleep 0.5; [ -s .progress ] && break; done; sleep 6; kill -INT $(cat .pid) ) &
python train.py --epochs 20
wait
