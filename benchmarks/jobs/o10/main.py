import argparse, json, os, torch, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--data"); ap.add_argument("--epochs", type=int); a = ap.parse_args()
rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=rank, world_size=world)
say = lambda *m: print(f"[{rank}/{world}]", *m)
net = torch.nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), lr=1e-2)
def shard_for(epoch): return os.path.join(a.data, f"epoch{epoch}", f"part-{rank:03d}-of-{world:03d}.jsonl")
for ep in range(a.epochs):
    rows = [json.loads(l) for l in open(shard_for(ep))]
    say(f"epoch {ep}: {len(rows)} rows")
    for r in rows:
        loss = (net(torch.tensor(r["x"])) - r["y"]).pow(2).mean(); opt.zero_grad(); loss.backward()
        for p in net.parameters(): dist.all_reduce(p.grad); p.grad /= world
        opt.step()
    say(f"epoch {ep} loss {loss.item():.4f}")
dist.destroy_process_group()
