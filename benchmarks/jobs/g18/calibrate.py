import torch, torch.distributed as dist
from rich.console import Console
from rich.table import Table
dist.init_process_group("gloo"); r = dist.get_rank(); con = Console(width=110)
J = ["base", "shoulder", "elbow", "wrist"]; torch.manual_seed(3)
true = torch.randn(4); fail_count = torch.zeros(4)
m = torch.nn.Parameter(torch.zeros(4))
for it in range(5):
    ang = torch.randn(64, 4); err = ang * (m - true) + .02 * torch.randn(64, 4)
    (err ** 2).mean().backward(); dist.all_reduce(m.grad); m.data -= 1.0 * m.grad / 2; m.grad = None
    e = err.detach().abs(); bad = (e.mean(0) > .1)
    fail_count += bad
    if r == 0:
        t = Table(title=f"iteration {it}: joint errors")
        for c in ("joint", "error", "max error", "fatal errors", "timeouts", "status"): t.add_column(c)
        for i, j in enumerate(J): t.add_row(j, f"{e[:, i].mean():.4f} rad", f"{e[:, i].max():.4f} rad", str(int(fail_count[i])), "0", "[red]FAILED (error too large)" if bad[i] else "ok")
        con.print(t)
dist.barrier()
if r == 0: con.rule("calibration"); con.print({"rmse error": round(err.pow(2).mean().sqrt().item(), 4), "rejected": int(fail_count.sum()), "file": "calib/arm_left.yaml"})
dist.destroy_process_group()
