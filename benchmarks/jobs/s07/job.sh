#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python tools/seed_ckpts.py ckpt 4 >/dev/null
mkdir -p logs
torchrun --nproc-per-node=4 --master-addr=127.0.0.1 --master-port=47407 --log-dir elastic --redirects 3 train_seg.py --resume ckpt --max-steps 440
rc=$?
for r in 0 1 2 3; do cat elastic/*/attempt_0/$r/stdout.log elastic/*/attempt_0/$r/stderr.log > logs/rank$r.txt; done
exit $rc
