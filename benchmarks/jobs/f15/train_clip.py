import os, torch, torch.distributed as dist
from torch.utils.data import DataLoader
from wds import InterleavedShards
dist.init_process_group("gloo")
r = dist.get_rank()
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
opt = torch.optim.SGD(m.parameters(), 1e-4)
print(f"rank {r}: start training", flush=True)
for split in ("shards/coco-0000*.tar", "shards/coco-*.tar"):
    for i, b in enumerate(DataLoader(InterleavedShards(split), batch_size=8, num_workers=1)):
        l = m(b.float()[:, None]).mean() ** 2
        opt.zero_grad(); l.backward(); opt.step()
        if r == 0: print(f"{split} it {i} loss {l.item():.4f}", flush=True)
