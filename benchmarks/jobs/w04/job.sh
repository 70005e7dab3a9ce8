#!/bin/bash
# nightly_refresh: cron calls this; slot is short, the next tenant comes after us
echo "nightly_refresh $(date -u +%FT%TZ) start"
timeout --kill-after=15 22 torchrun --nproc-per-node=3 --master-port=47805 refresh_embeddings.py
rc=$?
echo "nightly_refresh $(date -u +%FT%TZ) exit=$rc"
exit $rc
