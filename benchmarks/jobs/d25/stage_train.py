import sys, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
stage = sys.argv[1]; dist.init_process_group("gloo"); r = dist.get_rank()
m = DDP(torch.nn.GRU(8, 8, batch_first=True)); o = torch.optim.Adam(m.parameters(), 3e-3)
if stage == "compile":
    import torch_xla.core.xla_model as xm
    xm.xla_device()
n = {"warmup": 20, "main": 200, "anneal": 40}[stage]
for s in range(n):
    x = torch.randn(4, 12, 8); y, _ = m(x); l = (y - x.tanh()).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    print(f"[{stage}][rank {r}] iteration {s:>6}/{n} | lm loss: {l.item():.6E} | grad norm: {sum(p.grad.norm()**2 for p in m.parameters())**.5:.3f} | number of skipped iterations: 0 | number of nan iterations: 0 |", flush=True)
dist.destroy_process_group()
