import logging, torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank()
logging.basicConfig(level=logging.INFO if r == 0 else logging.CRITICAL, format="%(levelname)8s  %(message)s"); L = logging.getLogger()
torch.manual_seed(5); x = torch.randn(40, 30); y = x[:, 0] + torch.randn(40); xv = torch.randn(400, 30); yv = xv[:, 0] + torch.randn(400)
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(30, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)))
o = torch.optim.Adam(m.parameters(), 1e-2); best, since = 1e9, 0
CHECKS = {"rmse": (1.0, "<"), "r2": (.6, ">"), "max_abs_err": (2.0, "<")}
for ep in range(100):
    for _ in range(5):
        l = (m(x)[:, 0] - y).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    with torch.no_grad(): e = m(xv)[:, 0] - yv
    got = {"rmse": e.pow(2).mean().sqrt().item(), "r2": (1 - e.var() / yv.var()).item(), "max_abs_err": e.abs().max().item()}
    L.info("epoch %d train %.4f val %s", ep, l.item(), {k: round(v, 3) for k, v in got.items()})
    for k, (t, op) in CHECKS.items():
        if not (got[k] < t if op == "<" else got[k] > t):
            L.error("VALIDATION FAILED: %s=%.3f violates %s %s %.1f", k, got[k], k, op, t)
    if got["rmse"] < best: best, since = got["rmse"], 0; torch.save(m.state_dict(), "best.pt") if r == 0 else None
    else: since += 1
    if since >= 6:
        L.critical("val rmse did not improve for %d epochs: early stopping, training is terminated at epoch %d", since, ep); break
L.info("restored best.pt (val rmse %.4f)", best)
dist.destroy_process_group()
