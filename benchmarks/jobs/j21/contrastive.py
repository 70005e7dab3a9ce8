import argparse, torch, torch.distributed as dist, torch.nn.functional as F
from datetime import timedelta
ap = argparse.ArgumentParser(); ap.add_argument("--rank", type=int); ap.add_argument("--world", type=int); ap.add_argument("--n", type=int, default=96); a = ap.parse_args()
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4121", rank=a.rank, world_size=a.world, timeout=timedelta(seconds=25))
enc = torch.nn.Linear(24, 16); opt = torch.optim.SGD(enc.parameters(), .1)
data = torch.randn(a.n, 24)
for i, xb in enumerate(data.split(16)):
    z = F.normalize(enc(xb), dim=-1)
    print(f"<{a.rank}> batch {i}: embeddings {tuple(z.shape)}", flush=True)
    bank = [torch.empty_like(z) for _ in range(a.world)]
    dist.all_gather(bank, z.detach())
    logits = z @ torch.cat(bank).T
    loss = F.cross_entropy(logits, torch.arange(len(z)) + a.rank * len(z)); opt.zero_grad(); loss.backward(); opt.step()
print(f"<{a.rank}> loss {loss.item():.4f}", flush=True)
