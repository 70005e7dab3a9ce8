rm -f train.log
( until grep -q "rank 2\].* step 7 " train.log 2>/dev/null || [ $((n+=1)) -gt 300 ]; do sleep 0.2; done
  kill -9 $(grep -m1 -o "rank 2\] INFO train: started pid=[0-9]*" train.log | grep -o "[0-9]*$") ) &
torchrun --nproc-per-node 3 --master-port 21611 train.py --epochs 3 2>&1 | tee train.log
