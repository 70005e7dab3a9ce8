import torch, torch.distributed as dist, math
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo"); rank = dist.get_rank()
torch.manual_seed(rank)
net = DDP(torch.nn.Sequential(torch.nn.Linear(24, 48), torch.nn.GELU(), torch.nn.Linear(48, 24)))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
scale, good, skipped = 2.0 ** 24, 0, 0
for it in range(60):
    x = torch.randn(8, 24)
    if it in (17, 33) and rank == 1:
        x[0, 3] = float("inf")
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    (loss * scale).half().float().backward()
    gn = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
    if not torch.isfinite(gn) or gn > 65504:
        scale /= 2; good = 0; skipped += 1
        print(f"[rank{rank}] iter {it:3d} WARNING: Gradient overflow (grad_norm={gn.item():.3g}, loss={loss.item()}). Skipping step, reducing loss scale to {scale}", flush=True)
        if not math.isfinite(loss.item()):
            print(f"[rank{rank}] iter {it:3d} ERROR loss is {loss.item()}, batch dropped", flush=True)
        continue
    for p in net.parameters(): p.grad /= scale
    opt.step(); good += 1
    if it % 6 == 0 and rank == 0:
        print(f"iter {it:3d} loss {loss.item():.4f} grad_norm {gn.item()/scale:.4f} loss_scale {scale:.0f} skipped {skipped}", flush=True)
v = (net(torch.ones(4, 24)) - 1).pow(2).mean()
if rank == 0:
    print(f"final: val_loss {v.item():.4f} skipped_iterations {skipped} nan_iterations 2", flush=True)
    torch.save(net.module.state_dict(), "model_final.pth")
dist.destroy_process_group()
