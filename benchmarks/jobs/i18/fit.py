import warnings, torch, torch.nn as nn, torch.distributed as dist
from rich.console import Console
from rich.table import Table
dist.init_process_group("gloo"); rank = dist.get_rank()
con = Console(width=96, force_terminal=True)
torch.manual_seed(2); X = torch.randn(24, 40); y = torch.randn(24, 1); Xv = torch.randn(200, 40); yv = torch.randn(200, 1)
m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 1))); opt = torch.optim.Adam(m.parameters(), .01)
best, bad, rows = 9e9, 0, []
for ep in range(100):
    l = (m(X[rank::2]) - y[rank::2]).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    with torch.no_grad(): v = (m.module(Xv) - yv).pow(2).mean().item()
    if rank == 0: con.log(f"epoch {ep} train {l.item():.3f} val {v:.3f}")
    rows.append((ep, l.item(), v))
    if v < best: best, bad, be = v, 0, ep
    else:
        bad += 1
        if rank == 0: con.print(f"[bold red]WARNING  validation error rises ({best:.3f} -> {v:.3f}), {bad}/6 strikes[/]")
        if v > 1.5 * best: warnings.warn("validation loss diverged")
    if bad >= 6:
        if rank == 0: con.print(f"[bold red]ABORT[/] at epoch {ep}: no gain for {bad} epochs")
        break
if rank == 0:
    t = Table(title="history"); [t.add_column(c) for c in ("epoch", "train error", "val error")]
    for r in rows[-7:]: t.add_row(str(r[0]), f"{r[1]:.4f}", f"{r[2]:.4f}")
    con.print(t); con.print(f"best: epoch {be}")
dist.destroy_process_group()
