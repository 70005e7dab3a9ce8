#!/bin/bash
python seed.py || exit 2
echo "fsize limit for $(id -un): $(ulimit -f -S)"; ulimit -f 900; echo "fsize limit for batch: $(ulimit -f) KiB"
torchrun --master_addr=127.0.0.1 --master_port=48113 --nproc-per-node=2 ft.py
