export OMP_NUM_THREADS=1
rm -rf run
( for n in $(seq 200); do grep -qE "^[3-9]" run/worker2.it 2>/dev/null && break; sleep 0.3; done; kill -9 $(cat run/worker2.pid) ) &
export ACCELERATE_USE_CPU=true
torchrun --nproc-per-node 3 --master-port 29683 train.py
