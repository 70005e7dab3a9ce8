#!/bin/bash
unset PYTHONUNBUFFERED
# nightly: unpack, tokenize, train
echo "[1/4] unpack raw dump"
mkdir -p work
head -c 4000 /dev/urandom | base64 | gzip > work/dump.jsonl.gz
pigz -dc work/dump.jsonl.gz > work/dump.txt
echo "[2/4] tokenize"
python tokenize_dump.py work/dump.txt work/tokens.bin
echo "[3/4] train"
torchrun --nproc-per-node 2 --master-port 4314 train.py work/tokens.bin
echo "[4/4] report"
cat work/metrics.json
echo
echo "nightly pipeline finished OK"
