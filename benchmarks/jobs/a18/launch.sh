#!/usr/bin/env bash
set -u
WORLD_SIZE=2
export MASTER_PORT=21737 WORLD_SIZE
for RANK in 0 1; do
  export RANK LOCAL_RANK=$RANK
  echo "launching rank $RANK / $WORLD_SIZE"
  python train_vae.py --latent 16 > rank$RANK.log 2>&1 &
done
wait
for f in rank*.log; do echo "---- $f"; tail -n 40 $f; done
