mkdir -p logs ck
export MASTER_ADDR=127.0.0.1 MASTER_PORT=48457
python -c "
import torch
for s in (100, 200, 300): torch.save({'step': s, 'w': torch.randn(64, 64)}, f'ck/{s}.pt')
"
truncate -s 9000 ck/300.pt
mpirun --allow-run-as-root --oversubscribe -np 3 python resume.py
