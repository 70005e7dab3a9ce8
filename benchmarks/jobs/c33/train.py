import os
os.environ["RANK"], os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_RANK"], os.environ["OMPI_COMM_WORLD_SIZE"]
import torch, torch.distributed as dist, faulthandler
from reader import RowReader
faulthandler.enable()
dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size()
rd = RowReader("rows.f32", "rows.idx"); per = len(rd) // w; lo = r * per
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 1)); o = torch.optim.SGD(m.parameters(), 1e-2)
for s in range(per // 10):
    x = torch.stack([torch.from_numpy(rd.row(lo + s * 10 + j)) for j in range(10)])
    l = m(x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    print(f"[{r}] step {s} loss {l.item():.4f}", flush=True)
