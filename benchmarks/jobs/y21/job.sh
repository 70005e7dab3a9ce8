#!/bin/bash
python pack_release.py vendor/release-2026.11.tar.gz
torchrun --master_addr=127.0.0.1 --master_port=48121 --nproc-per-node=2 lora_ft.py --url http://127.0.0.1:48130/datasets/release-2026.11.tar.gz --mirror vendor
