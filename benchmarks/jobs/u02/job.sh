#!/usr/bin/env bash
set -euo pipefail
python make_dump.py --n 6000 --out raw.jsonl
python clean.py raw.jsonl clean.jsonl --max-bad 0.05
python train_lm.py clean.jsonl
ls -l clean.jsonl ngram.pkl | awk '{print $5, $9}'
