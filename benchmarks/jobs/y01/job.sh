#!/bin/bash
# nightly SFT for the ticket-reply assistant
set -e
python export_tickets.py --out data/tickets_2026w47.csv --n 600
python make_base.py --out base_model
ACCELERATE_USE_CPU=true accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no \
   --main_process_port 48110 sft.py --config sft.json
