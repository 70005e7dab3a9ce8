rm -rf ckpt; mkdir ckpt
n=1
( while ! grep -q "step 9" ckpt/progress 2>/dev/null; do sleep 0.3; done; kill -9 $(cat ckpt/worker1.pid) ) &
until torchrun --nproc_per_node 2 --master-port 41103 train_lm.py; do
  echo "$(date +%T) run_forever: attempt $n exited with $?, starting again in 2 s"
  n=$((n+1)); sleep 2
  [ $n -gt 5 ] && exit 1
done
echo "$(date +%T) run_forever: finished after $n attempts"
