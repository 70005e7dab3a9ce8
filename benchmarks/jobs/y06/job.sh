#!/bin/bash
export TOKENIZERS_PARALLELISM=false
python seed_run.py || exit 1
# stage-in from the object store mount to node-local scratch
mkdir -p scratch/run118
for f in bucket/run118/*; do dd if=$f of=scratch/run118/$(basename $f) bs=48K count=4 status=none; done
ls -l scratch/run118 | awk '{print "[stage-in]", $5, $9}'
torchrun --nnodes=1 --nproc-per-node=2 --max-restarts=0 --rdzv-backend=c10d --rdzv-endpoint=127.0.0.1:48106 --rdzv-id=run118 \
  --log-dir tlogs --tee 3 resume.py scratch/run118
ret=$?
echo "[job] torchrun returned $ret"
exit $ret
