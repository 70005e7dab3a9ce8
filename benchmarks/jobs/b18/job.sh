#!/bin/bash
rm -rf run out.log; touch out.log
( until grep -q "rank2 step 40/" out.log; do sleep 0.5; done; kill -9 $(cat run/2.pid) ) &
mpirun --allow-run-as-root --oversubscribe -n 3 python train_embed.py 2>&1 | tee out.log
exit ${PIPESTATUS[0]}
