import os, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo")
r = dist.get_rank()
os.makedirs("pids", exist_ok=True)
open(f"pids/{r}", "w").write(str(os.getpid()))
print(f"pid {os.getpid()} host {os.uname().nodename}", flush=True)
m = DDP(torch.nn.Linear(128, 128)); opt = torch.optim.SGD(m.parameters(), 0.01)
for step in range(1, 60):
    loss = m(torch.randn(32, 128)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    print(f"step {step:4d} | loss {loss.item():.3f} | {32/0.5:.1f} samples/s", flush=True)
    time.sleep(0.5)
