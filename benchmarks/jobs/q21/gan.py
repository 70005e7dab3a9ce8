"""Ein kleiner Trainer; Schritte mit unbrauchbarem Gradienten werden übersprungen."""
import logging, math, os, sys
import torch, torch.distributed as dist
R = int(os.environ["RANK"])
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s gan %(message)s")
dist.init_process_group("gloo")
torch.manual_seed(100 + R)
net = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
ps = list(net.parameters())
for p in ps: dist.broadcast(p.data, 0)
opt = torch.optim.Adam(ps, 1e-3); scale, good, skipped, total = 65536.0, 0, 0, 220
for step in range(total):
    x = torch.randn(16, 20)
    if R == 2 and step % 43 == 30: x = x.log()          # raw power spectra, not yet clipped at zero
    loss = net(x).square().mean(); opt.zero_grad(); (loss * scale).backward()
    bad = torch.tensor([float(not all(p.grad.isfinite().all() for p in ps))])
    if bad: logging.error("step %d: non-finite gradient on rank %d, loss=%s", step, R, loss.item())
    dist.all_reduce(bad)
    if bad:
        scale /= 2; skipped += 1
        logging.warning("step %d skipped (%d rank(s) with NaN/Inf), loss scale now %g", step, int(bad), scale); continue
    for p in ps: p.grad /= scale; dist.all_reduce(p.grad); p.grad /= 4
    opt.step(); logging.info("step %d loss %.5f scale %g", step, loss.item(), scale)
assert all(p.isfinite().all() for p in ps)
logging.info("training finished: %d steps, %d skipped, final loss %.5f", total, skipped, loss.item())
if R == 0: torch.save(net.state_dict(), "gan.pt"); logging.info("gan.pt saved")
dist.barrier(); dist.destroy_process_group()
