import os, sys, json
import torch, torch.nn as nn, torch.distributed as dist
from datetime import timedelta

dist.init_process_group("gloo", timeout=timedelta(seconds=20))
rank, world = dist.get_rank(), dist.get_world_size()
MAX_LEN = 48

rows = [json.loads(l) for l in open("train.jsonl")][rank::world]
keep = [r for r in rows if len(r["ids"]) <= MAX_LEN]
print(f"{len(rows)} examples for this process, {len(keep)} after length filter", flush=True)

torch.manual_seed(3)
net = nn.Sequential(nn.EmbeddingBag(1000, 32), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), 2e-3)


def stream(epoch):
    g = torch.Generator().manual_seed(epoch)
    order = torch.randperm(len(keep), generator=g).tolist()
    for i in range(0, len(order) - 7, 8):
        yield [keep[j] for j in order[i:i + 8]]


it, epoch, step = stream(0), 0, 0
while step < 120:
    b = next(it, None)
    if b is None:
        epoch += 1
        if epoch >= 2:
            print(f"no more batches after {epoch} epochs, {step} steps; leaving", flush=True)
            sys.exit(0)
        it = stream(epoch)
        continue
    ids = torch.tensor([t for r in b for t in r["ids"]])
    off = torch.tensor([0] + [len(r["ids"]) for r in b[:-1]]).cumsum(0)
    loss = nn.functional.cross_entropy(net[1](net[0](ids, off)), torch.tensor([r["y"] for r in b]))
    opt.zero_grad(); loss.backward()
    for p in net.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM); p.grad.div_(world)
    opt.step(); step += 1
    print(f"epoch {epoch} step {step}/120 loss {loss.item():.4f}", flush=True)
if rank == 0:
    torch.save(net.state_dict(), "clf.pt")
dist.barrier()
print("training complete")
