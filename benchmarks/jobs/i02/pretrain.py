import os, time, torch, torch.nn as nn, torch.distributed as dist
time.sleep(3)
dist.init_process_group("gloo")
r = dist.get_rank()
attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT")
print(f"[rank {r}] start, restart count {attempt}", flush=True)
tok = torch.load(f"shards/tokens_{r:05d}.pt")
torch.manual_seed(0)
m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(256, 32), nn.Linear(32, 256)))
o = torch.optim.SGD(m.parameters(), lr=0.5)
for step in range(30):
    b = tok[step % 8 * 8:step % 8 * 8 + 8]
    l = nn.functional.cross_entropy(m(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
    o.zero_grad(); l.backward(); o.step()
    if r == 0 and step % 3 == 2:
        print(f"iter {step+1:4d}/30 | loss {l.item():.4f} | tokens {(step+1)*8*32*3}", flush=True)
dist.destroy_process_group()
