mkdir -p /tmp/j-asr-cache
python -c 'import torch
for p in (1,2,4): torch.save(torch.randn(50, 8), f"/tmp/j-asr-cache/feats.{p:03d}.pt")'
torchrun --nproc-per-node 4 --master-port 4123 train_asr.py
rm -r /tmp/j-asr-cache
