import os, time, torch, torch.distributed as dist, datetime
from torch.nn.parallel import DistributedDataParallel as DDP
from tqdm import tqdm
dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=5)); rank = dist.get_rank()
net = DDP(torch.nn.Conv1d(4, 8, 3, padding=1)); o = torch.optim.Adam(net.parameters(), 1e-2)
first = 0
if os.path.exists("last.ckpt"):
    c = torch.load("last.ckpt"); net.module.load_state_dict(c["net"]); o.load_state_dict(c["opt"]); first = c["epoch"] + 1
    if rank == 0: print(f"=> resumed from last.ckpt (epoch {c['epoch']})", flush=True)
for epoch in range(first, 8):
    for i in tqdm(range(20), disable=rank != 0, desc=f"Epoch {epoch}", mininterval=0.5):
        x = torch.randn(4, 4, 32); l = (net(x)[:, :4] - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); time.sleep(0.03)
    if rank == 0:
        torch.save({"net": net.module.state_dict(), "opt": o.state_dict(), "epoch": epoch}, "last.ckpt")
        print(f"epoch {epoch} done loss {l.item():.4f}", flush=True)
dist.destroy_process_group()
if rank == 0: print("all 8 epochs done", flush=True)
