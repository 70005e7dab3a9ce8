#!/bin/bash
torchrun --nproc-per-node=4 --master-addr=127.0.0.1 --master-port=47222 --tee 3 --log-dir tr --local-ranks-filter 0,2 gan.py
