#!/bin/sh
cd "$(dirname "$0")" || exit 1
python gen_shards.py
exec python pretrain.py
