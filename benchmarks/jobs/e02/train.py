import os
os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]; os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_SIZE"]
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
import numpy as np, torch, torch.distributed as dist
from data import open_part
dist.init_process_group("gloo")
r, w = dist.get_rank(), dist.get_world_size()
print("process group ready", flush=True)
ae = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.Linear(8, 64))
for p in ae.parameters(): dist.broadcast(p.data, 0)
x = open_part("data/train", r)
opt = torch.optim.SGD(ae.parameters(), 0.05)
for epoch in range(5):
    for b in x.split(64):
        loss = (ae(b) - b).pow(2).mean(); opt.zero_grad(); loss.backward()
        for p in ae.parameters():
            dist.all_reduce(p.grad); p.grad /= w
        opt.step()
    print(f"epoch {epoch} mse {loss:.4f}", flush=True)
