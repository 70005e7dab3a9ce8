import argparse, glob, os, re, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def latest(folder):
    c = glob.glob(os.path.join(folder, "step_*.pt"))
    return max(c, key=lambda p: int(re.search(r"(\d+)\.pt", p).group(1))) if c else None

def main():
    ap = argparse.ArgumentParser(); ap.add_argument("--steps", type=int, default=40); ap.add_argument("--out", default="ckpt")
    a = ap.parse_args()
    dist.init_process_group("gloo"); rank = dist.get_rank()
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128)); start = 0
    path = latest(a.out)
    if path:
        if rank == 0: print(f"=> resuming from {path} ({os.path.getsize(path)} bytes)", flush=True)
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"]); start = state["step"]
    elif rank == 0: print("=> no checkpoint, training from scratch", flush=True)
    ddp = DDP(model); opt = torch.optim.SGD(ddp.parameters(), 0.01)
    for s in range(start + 1, a.steps + 1):
        x = torch.randn(16, 128); loss = (ddp(x) - x).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if s % 10 == 0 and rank == 0:
            print(f"step {s} loss {loss.item():.4f}", flush=True)
            os.makedirs(a.out, exist_ok=True); torch.save({"model": model.state_dict(), "step": s}, f"{a.out}/step_{s}.pt")
    dist.barrier(); dist.destroy_process_group()
    if rank == 0: print("=> finished", flush=True)
main()
