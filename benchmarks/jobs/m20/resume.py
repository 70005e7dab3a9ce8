import os, sys, torch, torch.nn as nn, torch.distributed as dist
import yaml
cfg = yaml.safe_load(open("config.yaml"))
dist.init_process_group("gloo")
rank = dist.get_rank()
m = nn.Linear(300, 300)
opt = torch.optim.Adam(m.parameters())
start = 0
f = os.path.join(cfg["ckpt"], f"optim_{rank:02d}.pt")
if cfg.get("resume"):
    if rank == 0: print(f"resuming from {cfg['ckpt']}", flush=True)
    blob = torch.load(f, map_location="cpu")
    m.load_state_dict(blob["model"]); opt.load_state_dict(blob["opt"]); start = blob["step"]
    dist.barrier()
for step in range(start, start + cfg["steps"]):
    loss = (m(torch.randn(16, 300))).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for p in m.parameters(): dist.all_reduce(p.grad)
    opt.step()
    if rank == 0: print(f"step {step + 1} loss {loss.item():.4f}", flush=True)
if not cfg.get("resume"):
    os.makedirs(cfg["ckpt"], exist_ok=True)
    torch.save({"model": m.state_dict(), "opt": opt.state_dict(), "step": start + cfg["steps"]}, f)
dist.destroy_process_group()
