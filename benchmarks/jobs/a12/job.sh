rm -f out.log
( until grep -q "rank 0 batch 15/" out.log 2>/dev/null || [ $((n+=1)) -gt 300 ]; do sleep 0.2; done
  kill -9 $(sed -n 's/.*rank 0 loader worker 1 up (pid \([0-9]*\),.*/\1/p' out.log) ) &
torchrun --nproc-per-node 2 --master-port 21688 train.py 2>&1 | tee out.log
