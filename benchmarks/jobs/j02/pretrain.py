import os, time, torch, torch.distributed as dist
import torch.nn as nn, torch.nn.functional as F
r, w = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4102", rank=r, world_size=w)
os.makedirs("run", exist_ok=True)
open(f"run/{r}.pid", "w").write(str(os.getpid()))
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 10))
opt = torch.optim.SGD(net.parameters(), 0.1)
g = torch.Generator().manual_seed(r)
for it in range(1, 200):
    x = torch.randn(64, 32, generator=g); y = x[:, :10].argmax(1)
    loss = F.cross_entropy(net(x), y); opt.zero_grad(); loss.backward()
    for p in net.parameters():
        dist.all_reduce(p.grad); p.grad /= w
    opt.step()
    print(f"iter {it:4d} | loss {loss.item():.4f} | lr 1.0e-01", flush=True)
    open(f"run/{r}.it", "w").write(str(it))
    time.sleep(0.3)
