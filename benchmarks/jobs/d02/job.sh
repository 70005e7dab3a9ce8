rm -rf staging started.*
( until ls started.* >/dev/null 2>&1; do sleep 0.2; done; sleep 0.8; python -c "
import torch, os
os.makedirs('staging', exist_ok=True); torch.save(torch.randn(500, 32), 'staging/.f.tmp'); os.rename('staging/.f.tmp', 'staging/features.pt')" ) &
torchrun --nproc-per-node 2 --max-restarts 4 --monitor-interval 2 --master-port 41802 train.py
echo "exit code $?"
