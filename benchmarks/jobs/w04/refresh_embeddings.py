import json, os, time
import torch, torch.distributed as dist, torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
r, w = dist.get_rank(), dist.get_world_size()
torch.manual_seed(r)
T0 = time.time()


def emit(**kw):
    print(json.dumps({"t": round(time.time() - T0, 2), "rank": r, **kw}), flush=True)


n_items = [48210, 48210, 31977][r]
emit(event="init", items=n_items, dim=64, threads=torch.get_num_threads())
net = DDP(nn.Sequential(nn.Embedding(50000, 64), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)))
opt = torch.optim.SGD(net.parameters(), 0.05)
if r == 2:
    emit(event="warn", msg="17 items of this shard have no interactions, keeping old vectors")
if r == 0:
    emit(event="params", n=sum(p.numel() for p in net.parameters()))
for epoch in range(40):
    for step in range(25):
        t = time.time()
        x = torch.randint(0, n_items, (256,))
        loss = (net(x) - torch.randn(256, 64)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        time.sleep(0.03 + 0.01 * r)
        if step % 2 == 0 or r == 0:
            emit(event="step", epoch=epoch, step=step, loss=round(loss.item(), 4), ms=int(1000 * (time.time() - t)))
    if r == 0:
        emit(event="epoch_end", epoch=epoch, recall_at_20=round(0.1 + 0.004 * epoch, 4))
dist.destroy_process_group()
