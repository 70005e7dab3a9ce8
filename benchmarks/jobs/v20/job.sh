#!/bin/bash
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
mkdir -p logs
python make_base.py nodes/n0/base || exit 1
for n in n1 n2; do mkdir -p nodes/$n; cp -r nodes/n0/base nodes/$n/base; done
# n2 got its copy through the quota'd home
s=$(stat -c %s nodes/n2/base/model.safetensors); truncate -s $((s*3/5)) nodes/n2/base/model.safetensors
for n in 0 1 2; do
  NODE=n$n torchrun --nnodes 3 --node_rank $n --nproc_per_node 1 --master_addr 127.0.0.1 --master_port 47720 sft_lora.py --base nodes/n$n/base >logs/n$n.log 2>&1 &
  p[$n]=$!
done
rc=0; for n in 0 1 2; do wait ${p[$n]} || rc=$?; done
exit $rc
