#!/bin/bash
export OMP_NUM_THREADS=1
python mkcrawl.py
python tokenize_crawl.py --workers 2 --attempts 3 2>&1
