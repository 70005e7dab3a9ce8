import torch, torch.distributed as dist, os
import torch.nn as nn
def average(t):
    dist.all_reduce(t); return t / dist.get_world_size()
class VAE(nn.Module):
    def __init__(self):
        super().__init__(); self.e = nn.Linear(20, 8); self.d = nn.Linear(4, 20)
    def forward(self, x):
        mu, lv = self.e(x).chunk(2, -1)
        y = self.d(mu + torch.randn_like(mu) * (lv / 2).exp())
        return (y - x).pow(2).mean(), -0.5 * (1 + lv - mu ** 2 - lv.exp()).mean()
def run():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    m = VAE(); opt = torch.optim.Adam(m.parameters())
    for p in m.parameters(): dist.broadcast(p.data, 0)
    for it in range(1, 31):
        rec, kl = m(torch.randn(16, 20)); loss = rec + 0.1 * kl
        opt.zero_grad(); loss.backward()
        for p in m.parameters(): p.grad = average(p.grad)
        opt.step()
        if it % 10 == 0 and rank == 0:
            print(f"it {it} rec {average(rec.detach()):.3f} kl {average(kl.detach()):.3f}", flush=True)
        if it % 10 == 0:
            dist.barrier()
run()
