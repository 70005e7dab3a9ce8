#!/usr/bin/env bash
set -e
export OMP_NUM_THREADS=1
echo "### phase 1"
python ppo_like.py --nproc 2 --iters 6 --save run/latest.safetensors
echo "### push to bucket"
python bucket.py put run/latest.safetensors bucket/
rm -r run
echo "### phase 2"
python bucket.py get bucket/latest.safetensors run/
python ppo_like.py --nproc 2 --iters 12 --save run/latest.safetensors --resume run/latest.safetensors
