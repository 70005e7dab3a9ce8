#!/usr/bin/env bash
# nightly two-tower retrain, 4 workers on one box
set -u
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
mkdir -p features
python export_features.py
# the feature store compacts the partition of today after each export
python compact.py features/part-00003 &
compactor=$!
sleep 1
torchrun --nproc_per_node=4 --master_port=48505 two_tower.py --steps 400
rc=$?
kill $compactor 2>/dev/null
wait $compactor 2>/dev/null
exit $rc
