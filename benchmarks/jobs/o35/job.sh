rm -f worker.pids
( for i in $(seq 200); do sleep .3; grep -qs ready worker.pids && break; done; sleep 4; kill -9 $(sed -n 2p worker.pids) ) &
python train.py
