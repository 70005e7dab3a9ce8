import datetime, os, sys, time, warnings
import torch, torch.distributed as dist
from torch import nn
r, w = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=r, world_size=w, timeout=datetime.timedelta(seconds=30))
def P(level, s): print(f"{level} {time.time():.2f} r{r}: {s}", flush=True)

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
for p in net.parameters(): dist.broadcast(p.data, 0)
opt = torch.optim.SGD(net.parameters(), 1e-2)
scale, good = 2.0 ** 16, 0
gen = torch.Generator().manual_seed(r)
notes = open("notes.txt", "a")
for step in range(160):
    x = torch.randn(32, 16, generator=gen); y = x[:, :2].sum(1, keepdim=True)
    if step == 40 and r == 3: time.sleep(6)
    t0 = time.time()
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad(); (loss.half() * scale).float().backward()
    flat = torch.cat([p.grad.flatten() for p in net.parameters()]); dist.all_reduce(flat)
    wait = time.time() - t0
    if wait > 2: P("WARN", f"all_reduce of step {step} took {wait:.1f} s (timeout 30 s): some rank is late")
    if not torch.isfinite(flat).all():
        scale /= 2; good = 0
        P("ERROR", f"step {step}: inf/nan in the reduced gradients (scaled loss {(loss.half() * scale * 2).item()}), step skipped, scale now {scale:g}")
        continue
    k = 0
    for p in net.parameters():
        p.grad = flat[k:k + p.numel()].view_as(p) / (scale * w); k += p.numel()
    n = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if n > 1.5: P("WARN", f"step {step}: grad norm {n:.2f} exploded, clipped to 1.0")
    opt.step(); good += 1
    if good % 25 == 0: scale *= 2; P("INFO", f"scale up to {scale:g}")
    if step % 10 == 0: P("INFO", f"step {step} loss {loss.item():.4f}")
if r == 2: warnings.warn("metrics endpoint http://127.0.0.1:47499 not reachable: [Errno 111] Connection refused; metrics kept locally", RuntimeWarning)
dist.barrier()
P("INFO", f"finished 160 steps, final loss {loss.item():.4f}, model saved" if r == 0 else f"finished 160 steps, final loss {loss.item():.4f}")
if r == 0: torch.save(net.state_dict(), "amp.pt")
