#!/bin/bash
python -c "
import torch, os
os.makedirs('ck', exist_ok=True)
for s in (300, 400, 500): torch.save({'step': s, 'w': torch.full((3000,), s / 1000)}, f'ck/step{s}.pt')
os.truncate('ck/step500.pt', 7000); os.truncate('ck/step400.pt', 0)
"
export MASTER_ADDR=127.0.0.1 MASTER_PORT=47219 WORLD_SIZE=3
for r in 0 1 2; do RANK=$r python continue_training.py 2>&1 | awk -v r=$r '{print "trainer" r " :: " $0; fflush()}' & done
wait
test -s ck/step520.pt
