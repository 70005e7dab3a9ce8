export OMP_NUM_THREADS=1
rm -f progress
torchrun --nproc-per-node 2 --master-port 29699 train.py &
pid=$!
for n in $(seq 100); do [ -e progress ] && break; sleep 0.5; done
kill -TERM $pid
wait $pid
echo "exit $?"
