unset PYTHONUNBUFFERED
python build_corpus.py &
n=0
until torchrun --nproc-per-node 2 --master-port 4308 train.py; do
  n=$((n+1))
  [ $n -ge 2 ] && break
  echo ">>> supervisor: run ended, restart $n of 1"
  sleep 8
done
wait
echo ">>> supervisor: leaving"
