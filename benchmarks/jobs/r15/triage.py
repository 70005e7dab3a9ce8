import argparse, csv, sys, zlib
import torch, torch.distributed as dist
from torch import nn
from tqdm import tqdm
ap = argparse.ArgumentParser(); ap.add_argument("--epochs", type=int); a = ap.parse_args()
dist.init_process_group("gloo"); rk = dist.get_rank()
K = ["gpu", "net", "disk", "user"]
rows = list(csv.reader(open("tickets.csv")))


def vec(t):
    v = torch.zeros(512)
    for i in range(len(t) - 2): v[zlib.crc32(t[i:i + 3].encode()) % 512] += 1
    return v / max(1, len(t) ** .5)


X = torch.stack([vec(t) for _, t in rows]); y = torch.tensor([K.index(k) for k, _ in rows])
tr = range(rk, 1000, 2)
torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(nn.Linear(512, 4)); opt = torch.optim.Adam(net.parameters(), 5e-3)
for ep in range(a.epochs):
    bar = tqdm(range(0, 500, 20), desc=f"ep {ep}", disable=rk > 0, file=sys.stdout)
    for b in bar:
        i = list(tr)[b:b + 20]
        l = nn.functional.cross_entropy(net(X[i]), y[i]); opt.zero_grad(); l.backward(); opt.step(); bar.set_postfix(loss=f"{l.item():.3f}")
    with torch.no_grad(): p = net.module(X[1000:]).softmax(1)
    hit = p.argmax(1) == y[1000:]
    print(f"[{rk}] epoch {ep} held-out accuracy {hit.float().mean():.3f}")
    if rk == 0:
        lo = p.max(1).values.argsort()[:25]
        for j in lo.tolist():
            print(f"   {p[j].max():.2f} {K[p[j].argmax()]:4s} <- {rows[1000+j][1]}")
if rk == 0:
    torch.save(net.module.state_dict(), "triage.pt"); print("saved triage.pt")
dist.barrier(); dist.destroy_process_group()
