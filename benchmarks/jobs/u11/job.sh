#!/usr/bin/env bash
# scratch is a small private tmpfs, gone with the job
exec unshare -m bash -c '
  mkdir -p scratch && mount -t tmpfs -o size=40m scratch_tmpfs scratch || exit 9
  df -h scratch | tail -n +1
  python train_vae.py --workdir scratch --epochs 12 --nproc 2
  rc=$?
  df -h scratch | tail -1
  exit $rc'
