export OMP_NUM_THREADS=1
rm -rf tmp
( for n in $(seq 200); do [ -e tmp/it_r1 ] && break; sleep 0.2; done; kill -9 $(cat tmp/loader_r1_w0) ) &
torchrun --nproc-per-node 2 --master-port 29693 train.py
