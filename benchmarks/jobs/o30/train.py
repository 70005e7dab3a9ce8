import argparse, os, random, time, torch, torch.distributed as dist
from pathlib import Path
ap = argparse.ArgumentParser(); ap.add_argument("--name"); ap.add_argument("--lr", type=float, default=.01); ap.add_argument("--total", type=int, default=200); args = ap.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank(); st = Path("state"); (st / f"rank{rank}.pid").write_text(str(os.getpid()))
def log(m): print(f"{time.strftime('%H:%M:%S')} [{args.name}] r{rank} {m}", flush=True)
net = torch.nn.Linear(12, 2); opt = torch.optim.AdamW(net.parameters(), lr=args.lr); step = 0
if (st / "last.pt").exists():
    log(f"found {st/'last.pt'}, resuming")
    s = torch.load(st / "last.pt"); net.load_state_dict(s["net"]); opt.load_state_dict(s["opt"]); step = s["step"]
ddp = torch.nn.parallel.DistributedDataParallel(net)
while step < args.total:
    x = torch.randn(16, 12); loss = torch.nn.functional.cross_entropy(ddp(x), (x.sum(1) > 0).long()); opt.zero_grad(); loss.backward(); opt.step(); step += 1; time.sleep(.1)
    if step % 10 == 0:
        log(f"step {step} loss {loss.item():.4f}")
        if rank == 0: torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step, "args": args, "rng": random.getstate()}, st / "last.pt")
log("finished"); dist.destroy_process_group()
