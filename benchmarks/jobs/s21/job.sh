#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
mkdir -p fast slow; ln -sf /dev/full fast/rank1.snap
python mk.py
torchrun --nproc_per_node=3 --master_addr=127.0.0.1 --master_port=47425 denoise.py && ls -l slow fast | grep -c snap
