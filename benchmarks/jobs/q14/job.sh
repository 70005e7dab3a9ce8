#!/bin/bash
torchrun --nproc-per-node=2 --master-addr=127.0.0.1 --master-port=47214 ocr/train.py 
