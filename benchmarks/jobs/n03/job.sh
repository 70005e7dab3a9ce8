n=0
until torchrun --standalone --nproc-per-node 2 train_lm.py --model $TINY --steps 24; do
  n=$((n+1))
  echo "### attempt $n ended with a non-zero status, restarting in 2 s ###"
  [ $n -ge 4 ] && exit 1
  sleep 2
done
