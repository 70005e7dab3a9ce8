#!/bin/bash
set -e
T="torchrun --nnodes 1 --nproc_per_node 3 --master_addr 127.0.0.1 --master_port 48104"
# stage 1: warm start on last quarter's labels
$T intent_cls.py --labels labels_q3.txt --steps 20 --save ck/intent.pt
# stage 2: continue with this quarter's labels
$T intent_cls.py --labels labels_q4.txt --steps 60 --resume ck/intent.pt --save ck/intent_q4.pt
