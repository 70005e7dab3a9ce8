#!/usr/bin/env bash
# nightly continuation of the ranker; runs from cron at 02:10
set -uo pipefail
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
rc=0
echo "== [1/4] workspace $(date +%H:%M:%S)"
python tools/prepare_workspace.py --out store --steps 120 || exit 1
echo "== [2/4] mirror checkpoints"
python tools/mirror.py store/ckpt work/ckpt --window-kib 3200 || exit 1
echo "== [3/4] continue training"
torchrun --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 47301 continue_ranker.py --ckpt-dir work/ckpt --steps 80 || rc=$?
echo "== [4/4] housekeeping"
python tools/housekeeping.py work || true
echo "== nightly done, status $rc"
exit $rc
