import torch, torch.distributed as dist
from losses import contrastive
dist.init_process_group("gloo"); torch.manual_seed(dist.get_rank())
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(12, 8)); o = torch.optim.Adam(m.parameters(), 1e-2)
for s in range(1, 21):
    x = torch.randn(16, 12); z = m(torch.cat([x, x + .1 * torch.randn_like(x)])); l = contrastive(z[:16], z[16:]); o.zero_grad(); l.backward(); o.step()
    if s % 5 == 0: print(f"rank {dist.get_rank()} step {s} loss {l.item():.4f}", flush=True)
dist.destroy_process_group()
