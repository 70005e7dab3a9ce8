import os, math
import torch, torch.distributed as dist
from torch import nn
r = int(os.environ["OMPI_COMM_WORLD_RANK"]); w = int(os.environ["OMPI_COMM_WORLD_SIZE"])
os.environ.setdefault("MASTER_ADDR", "127.0.0.1"); os.environ.setdefault("MASTER_PORT", "4206")
dist.init_process_group("gloo", rank=r, world_size=w)
torch.manual_seed(r)
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
for p in net.parameters(): dist.broadcast(p.data, 0)
opt = torch.optim.AdamW(net.parameters(), 2e-3)
scale, bad = 65536.0, 0
for step in range(1, 41):
    x = torch.randn(32, 8)
    if step in (9, 10, 23) and r == 1:
        x[3] = x[3] / torch.zeros(8)          # sensor dropouts give 0/0 after normalisation
    loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for p in net.parameters():
        dist.all_reduce(p.grad); p.grad /= w
    gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if not math.isfinite(gn):
        bad += 1; scale /= 2
        print(f"WARNING: rank {r}: grad norm is {gn.item()}, loss {loss.item()}; OVERFLOW! Skipping step {step}, reducing loss scale to {scale}", flush=True)
        continue
    opt.step()
    if r == 0 and step % 4 == 0: print(f"iteration {step:6d}/{40:8d} | lm loss: {loss.item():.6E} | loss scale: {scale} | grad norm: {gn.item():.3f} | number of skipped iterations: {bad} | number of nan iterations: {bad} |", flush=True)
dist.barrier()
if r == 0: print("validation loss at the end of training | lm loss value: %.6E | lm loss PPL: %.4f" % (loss.item(), math.exp(loss.item())), flush=True)
dist.destroy_process_group()
