import os, time, numpy as np
import torch, torch.distributed as dist
rank = int(os.environ["OMPI_COMM_WORLD_RANK"]); world = int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4411", rank=rank, world_size=world)
print("init ok", time.strftime("%H:%M:%S"), flush=True)
table = []
for chunk in range(8):
    a = np.random.default_rng(chunk).normal(size=(40000, 128)).astype("f4")
    table.append(a)
    s = torch.tensor([float(a.mean())]); dist.all_reduce(s)
    print(f"chunk {chunk}: {sum(t.nbytes for t in table) >> 20} MiB held, mean {s.item() / world:.5f}", flush=True)
feats = torch.from_numpy(np.concatenate(table))
cov = feats.T @ feats
dist.all_reduce(cov)
print("cov trace", cov.trace().item(), flush=True)
