#!/bin/bash
export OMP_NUM_THREADS=1
python -c "
import random
random.seed(4)
for r in range(4):
    with open('tweets.%d.tsv' % r, 'w') as f:
        for i in range(2400):
            t = ' '.join(random.choice('lorem ipsum dolor sit amet consectetur elit sed do'.split()) for _ in range(9))
            f.write('%d\t%s\n' % (i % 3, t) if not (r == 3 and i == 1711) else t + '\n')
"
torchrun --nnodes=1 --nproc_per_node=4 --master_port=47913 sentiment.py
