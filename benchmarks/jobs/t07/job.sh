#!/usr/bin/env bash
# node limits are not enforced by cgroups here, so memguard does it
python memguard.py --limit-mb 900 --match graph_train.py &
G=$!
torchrun --standalone --nproc_per_node=3 graph_train.py
rc=$?
kill $G 2>/dev/null
wait $G 2>/dev/null
exit $rc
