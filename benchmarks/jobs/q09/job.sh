#!/bin/sh
set -e
python pack_images.py
cd src && torchrun --nproc-per-node=3 --master-addr=127.0.0.1 --master-port=47209 -m trainer.run
