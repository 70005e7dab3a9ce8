#!/bin/bash
export GLOO_SOCKET_IFNAME=lo
python dashboard.py & d=$!
trap 'kill $d 2>/dev/null; wait $d 2>/dev/null' EXIT
torchrun --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 48247 sft.py || exit $?
ls -l sft_out/final | awk 'NR>1{print $5, $9}'
