import torch, torch.distributed as dist
from model import Head
dist.init_process_group("gloo"); r = dist.get_rank()
net = torch.nn.parallel.DistributedDataParallel(Head()); o = torch.optim.Adam(net.parameters(), 1e-2); f = open("loss.txt", "w") if r == 0 else None
for s in range(30):
    x = torch.randn(32, 16); l = torch.nn.functional.cross_entropy(net(x), x[:, :4].argmax(1)); o.zero_grad(); l.backward(); o.step()
    if f: print("loss", l.item(), file=f); print(f"{s:>4} {l.item():.4f}", flush=True) if s % 6 == 0 else None
if r == 0: torch.save(net.module.state_dict(), "head.pt")
dist.destroy_process_group()
