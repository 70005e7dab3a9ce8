import argparse, json, traceback, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def parse(line):
    row = json.loads(line)
    ids = [int(t[1:]) for t in row["text"].split()]
    return torch.tensor(ids), torch.tensor(row["label"])

def samples(path, rank, world):
    bad = 0
    for i, line in enumerate(open(path)):
        if i % world != rank:
            continue
        try:
            yield parse(line)
        except Exception:
            bad += 1
            print(f"[rank {rank}] ERROR while reading {path}:{i+1}, skipping", flush=True)
            traceback.print_exc()
    print(f"[rank {rank}] skipped {bad} bad rows", flush=True)

def main():
    ap = argparse.ArgumentParser(); ap.add_argument("--epochs", type=int, default=1); a = ap.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.EmbeddingBag(64, 16), nn.Linear(16, 2)))
    opt = torch.optim.AdamW(net.parameters(), 1e-2)
    for ep in range(a.epochs):
        data = list(samples("reviews.jsonl", rank, world))
        n = torch.tensor([len(data)]); dist.all_reduce(n, op=dist.ReduceOp.MIN)
        data = data[: int(n)]
        for s in range(0, len(data) - 15, 16):
            x = torch.stack([d[0] for d in data[s:s+16]]); y = torch.stack([d[1] for d in data[s:s+16]])
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            if rank == 0: print(f"epoch {ep} step {s//16} loss {loss.item():.4f}", flush=True)
    if rank == 0:
        torch.save(net.module.state_dict(), "clf.pt"); print("saved clf.pt")
    dist.destroy_process_group()
    if rank == 0: print("Done")
main()
