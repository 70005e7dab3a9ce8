rm -rf hb
( until grep -q '"step": 1[0-9]' hb/2.json 2>/dev/null; do sleep 0.1; done; kill -9 $(sed 's/.*"pid": \([0-9]*\).*/\1/' hb/2.json) ) &
torchrun --nproc-per-node 4 --master-port 29711 train.py
