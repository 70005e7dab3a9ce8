rm -rf pids out.log
( for i in $(seq 300); do
    if [ -f out.log ] && grep -q 'default0\]:step    3' out.log; then kill -9 $(cat pids/0); break; fi
    sleep 0.2
  done ) &
torchrun --nproc-per-node 4 --tee 3 --master-port 29814 train.py 2>&1 | tee out.log
