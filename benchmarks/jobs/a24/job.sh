rm -f pretrain.log
torchrun --nproc-per-node 2 --master-port 21779 --max-restarts 1 pretrain.py > pretrain.log 2>&1 &
P=$!
until grep -q "iteration *45/" pretrain.log; do sleep 0.5; done
kill -TERM $P
wait $P
cat pretrain.log
