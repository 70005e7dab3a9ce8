import os, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29650", rank=rank, world_size=world)

def save(net, opt, step):
    torch.save({"model": net.module.state_dict(), "opt": opt.state_dict(), "step": step}, f"ckpt_{step}.pt")

net = DDP(nn.Sequential(nn.Embedding(4000, 256), nn.Linear(256, 4000))); opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(1, 31):
    x = torch.randint(0, 4000, (16,)); loss = nn.functional.cross_entropy(net(x), x.roll(1))
    opt.zero_grad(); loss.backward(); opt.step()
    if rank == 0: print(f"{step=} loss={loss.item():.3f}", flush=True)
    if step % 10 == 0:
        if rank == 0: save(net, opt, step)
        dist.barrier()
