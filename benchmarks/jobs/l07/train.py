import os, time
import torch, torch.nn as nn, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
os.makedirs("pids", exist_ok=True)
attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
start = 0
net = nn.Linear(64, 64)
if os.path.exists("last.pt"):
    st = torch.load("last.pt"); net.load_state_dict(st["w"]); start = st["step"]
    print(f"[rank{rank}] resumed at step {start}", flush=True)
ddp = nn.parallel.DistributedDataParallel(net)
opt = torch.optim.SGD(ddp.parameters(), lr=0.1)
for step in range(start, 400):
    x = torch.randn(32, 64)
    l = (ddp(x) - x).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    time.sleep(0.2)
    if step == start + 3: open(f"pids/rank{rank}.{attempt}", "w").write(str(os.getpid()))  # for py-spy
    print(f"[rank{rank}] step {step} loss {l.item():.4f}", flush=True)
    if step % 4 == 3 and rank == 0:
        torch.save({"w": net.state_dict(), "step": step + 1}, "last.tmp"); os.replace("last.tmp", "last.pt")
        print("[rank0] checkpoint last.pt ok", flush=True)
    dist.barrier()
print(f"[rank{rank}] training complete")
