import os, torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

class LoRALinear(nn.Module):
    def __init__(self, d, r=4):
        super().__init__(); self.base = nn.Linear(d, d); self.A = nn.Parameter(torch.randn(r, d) * 0.01); self.B = nn.Parameter(torch.zeros(d, r))
        self.base.requires_grad_(False)
    def forward(self, x): return self.base(x) + x @ self.A.T @ self.B.T

def main():
    dist.init_process_group("gloo")
    r = dist.get_rank()
    model = nn.Sequential(*[LoRALinear(256) for _ in range(4)])
    n = sum(p.numel() for p in model.parameters()); t = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if r == 0: print(f"parameters {n:,}, trainable {t:,} ({100*t/n:.2f}%)", flush=True)
    model = FSDP(model, auto_wrap_policy=ModuleWrapPolicy({LoRALinear}), device_id=torch.device("cpu"))
    if r == 0: print(model, flush=True)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for s in range(10):
        loss = model(torch.randn(8, 256)).pow(2).mean(); loss.backward(); opt.step(); opt.zero_grad()
        if r == 0: print("step", s, loss.item(), flush=True)
main()
