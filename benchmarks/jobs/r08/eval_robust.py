import argparse, json
import torch, torch.distributed as dist
from torch import nn
ap = argparse.ArgumentParser(); ap.add_argument("--cases", type=int); a = ap.parse_args()
dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for s in range(150):
    x = torch.randn(128, 16); y = x[:, :4].argmax(1)
    l = nn.functional.cross_entropy(net(x), y); opt.zero_grad(); l.backward(); opt.step()
print(f"eval[{r}] reference model ready, ce {l.item():.3f}")
kinds = ["clean", "noise", "dropout", "overflow", "nan", "truncated"]
tab = torch.zeros(len(kinds), 5)   # n, correct, errors, timeouts, nonfinite
for i in range(r, a.cases, w):
    k = i % 6
    g = torch.Generator().manual_seed(i)
    x = torch.randn(1, 16, generator=g); y = x[:, :4].argmax(1)
    if k == 1: x = x + torch.randn(1, 16, generator=g) * 1.5
    if k == 2: x = x * (torch.rand(1, 16, generator=g) > .5)
    if k == 3: x = x * 1e38 * 10
    if k == 4: x[0, 5] = float("nan")
    if k == 5: x = x[:, :12]
    tab[k, 0] += 1
    try:
        with torch.no_grad(): o = net(x)
        if not torch.isfinite(o).all():
            tab[k, 4] += 1; print(f"eval[{r}] case {i:4d} {kinds[k]:10s} FAIL non-finite logits {o[0, :2].tolist()}")
        elif o.argmax(1) == y:
            tab[k, 1] += 1; print(f"eval[{r}] case {i:4d} {kinds[k]:10s} pass")
        else:
            tab[k, 3] += 1; print(f"eval[{r}] case {i:4d} {kinds[k]:10s} FAIL wrong class")
    except RuntimeError as e:
        tab[k, 2] += 1; print(f"eval[{r}] case {i:4d} {kinds[k]:10s} ERROR RuntimeError: {e}")
dist.all_reduce(tab)
if r == 0:
    json.dump({"kinds": kinds, "tab": tab.tolist()}, open("eval.json", "w"))
dist.barrier(); dist.destroy_process_group()
