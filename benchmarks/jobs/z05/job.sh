#!/bin/bash
# usage: job.sh   (poor man's srun: one worker per node of the allocation)
export GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 MASTER_PORT=48209 WORLD_SIZE=3
python stage.py
nodes=(gpu-a07 gpu-a08 gpu-a11)
echo "allocation: ${nodes[*]}"
pids=()
for i in 0 1 2; do
  NODE=${nodes[$i]} RANK=$i python worker.py 2>&1 &
  pids+=($!)
done
fail=0
for i in 0 1; do wait ${pids[$i]} || { rc=$?; echo "task $i on ${nodes[$i]} ended with status $rc"; fail=$rc; }; done
if [ $fail -ne 0 ]; then
  for p in ${pids[@]}; do kill $p 2>/dev/null; done
fi
wait ${pids[2]} 2>/dev/null
exit $fail
