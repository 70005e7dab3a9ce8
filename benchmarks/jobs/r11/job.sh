#!/bin/bash
set -euo pipefail
python dump.py 12000 > crawl.tsv
mpirun --allow-run-as-root --oversubscribe -np 4 --tag-output python clean.py crawl.tsv parts
cat parts/*.jsonl > clean.jsonl
wc -l crawl.tsv clean.jsonl parts/*.jsonl
python verify.py clean.jsonl
