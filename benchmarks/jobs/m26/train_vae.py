import torch, torch.nn as nn, torch.nn.functional as F, torch.distributed as dist

class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(64, 16); self.dec = nn.Linear(8, 64)
    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, -1)
        return self.dec(mu + torch.randn_like(mu) * (lv / 2).exp()), mu, lv

def kl(mu, lv):
    v = -0.5 * (1 + lv - mu ** 2 - lv.exp()).sum(-1).mean()
    if v > 20:
        breakpoint()
    return v

dist.init_process_group("gloo")
torch.manual_seed(3)
net = nn.parallel.DistributedDataParallel(VAE())
opt = torch.optim.Adam(net.parameters(), 2e-3)
torch.manual_seed(dist.get_rank())
scale = [1.0, 1.0, 1.2, 6.0][dist.get_rank() if dist.get_rank() != 1 else 3]
for i in range(200):
    x = torch.randn(32, 64) * (1 + (scale - 1) * i / 100)
    y, mu, lv = net(x)
    loss = F.mse_loss(y, x) + 0.01 * kl(mu, lv)
    opt.zero_grad(); loss.backward(); opt.step()
    t = loss.detach().clone(); dist.all_reduce(t)
    if dist.get_rank() == 0 and i % 10 == 0:
        print(f"{i}\t{t.item() / dist.get_world_size():.4f}", flush=True)
