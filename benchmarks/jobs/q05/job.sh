#!/bin/bash
mkdir -p cache
python -c "
import json, time
json.dump({'host': 'trn-07', 'pid': 20114, 'since': time.time() - 8640}, open('cache/tok-ja.lock', 'w'))"
torchrun --nproc_per_node=3 --master_addr=127.0.0.1 --master_port=47205 lm/main.py --languages en,ja,pt
