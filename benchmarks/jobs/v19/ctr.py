import math, os, numpy as np, torch, torch.distributed as dist
R = int(os.environ["RANK"])
dist.init_process_group("gloo")
d = np.load(f"f{R}.npz")
x, y = torch.from_numpy(d["x"]), torch.from_numpy(d["y"])
print(f"[{R}] rows={len(x)} mean={x.mean():.3f} max={x.max():.3f} pos={y.mean():.3f}", flush=True)
torch.manual_seed(0)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(24, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for it in range(200):
    b = slice(it * 32, it * 32 + 32)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x[b]).squeeze(-1), y[b])
    opt.zero_grad(); loss.backward()
    gn = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    tot = loss.detach().clone(); dist.all_reduce(tot); tot = tot.item() / 4
    print(f"[{R}] it {it:3d} loss {tot:.4f} gnorm {gn:.3f}", flush=True)
    if not math.isfinite(tot):
        raise SystemExit(f"[{R}] non-finite loss at it {it}, stopping")
