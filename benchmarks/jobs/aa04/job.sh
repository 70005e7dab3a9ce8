#!/bin/bash
# finetune + push checkpoints to the artifact store on this box
python artifactd.py 48341 &
store=$!
sleep 1
torchrun --nproc_per_node 3 --master_addr 127.0.0.1 --master_port 48304 finetune.py --store 127.0.0.1:48341 &
job=$!
for i in $(seq 1 22); do
  sleep 1
  kill -0 $job 2>/dev/null || break
done
if kill -0 $job 2>/dev/null; then
  echo "[watch] $(date +%T) no new checkpoint since 20 s"
  if command -v py-spy >/dev/null; then
    for pid in $(pgrep -P $job); do
      echo "[watch] py-spy dump --pid $pid"
      py-spy dump --pid $pid
    done
  fi
fi
wait $job
rc=$?
kill $store 2>/dev/null
exit $rc
