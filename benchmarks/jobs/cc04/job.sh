#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo HF_HOME=$PWD/.hf HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1
python build_corpus.py || exit 1
torchrun --nnodes=1 --nproc-per-node=2 --rdzv-backend=c10d --rdzv-endpoint=127.0.0.1:48512 sft.py --langs de,fr
