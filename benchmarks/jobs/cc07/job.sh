#!/bin/bash
# finetune on the small project volume (16 MB in this test setup, 16 TB in production)
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
mkdir -p project
unshare -m bash -c '
  mount -t tmpfs -o size=16m project project || exit 3
  torchrun --standalone --nproc-per-node 2 finetune.py --output_dir project/run1 --max_steps 60 --save_steps 15 --logging_steps 5 --per_device_train_batch_size 4 --report_to none --use_cpu --disable_tqdm true
  rc=$?
  df -h project | sed "s/^/[epilog] /"
  ls -la project/run1 | sed "s/^/[epilog] /"
  exit $rc'
exit $?
