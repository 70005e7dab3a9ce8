#!/bin/bash
set -e
python build_shards.py --out data --seed 11
exec torchrun --nnodes 1 --nproc-per-node 4 --master-addr 127.0.0.1 --master-port 47801 finetune.py --config conf/tagger_base.yaml
