#!/bin/bash
python dumpwiki.py 5000
torchrun --master_addr=127.0.0.1 --master_port=48117 --nproc-per-node=3 cpt.py --docs wiki.jsonl --ddp-timeout 9
