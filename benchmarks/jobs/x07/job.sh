#!/bin/bash
export OMP_NUM_THREADS=1
python make_docs.py
ulimit -v 6500000     # the box is shared with the annotation server
torchrun --nproc-per-node=3 --master-port=47907 longdoc.py 
