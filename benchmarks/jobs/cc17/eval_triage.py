"""Tiny classifier for support tickets: train on the templates, evaluate on noisy copies, show some errors."""
import argparse, json, random, re
import torch, torch.distributed as dist
from torch import nn

ap = argparse.ArgumentParser(); ap.add_argument("--show", type=int); a = ap.parse_args()
dist.init_process_group("gloo"); rank, world = dist.get_rank(), dist.get_world_size()
rows = [json.loads(l) for l in open("tickets.jsonl")]
labels = sorted({r["label"] for r in rows})
rng = random.Random(rank)


def noisy(t, p):
    return " ".join(w for w in re.split(r"(?<=\W)\s*", t) if rng.random() > p)


def feats(t):
    v = torch.zeros(512)
    for w in re.findall(r"[A-Za-z]{3,}", t):
        v[sum(map(ord, w.lower())) % 512] += 1
    return v


net = nn.parallel.DistributedDataParallel(nn.Linear(512, len(labels)))
opt = torch.optim.Adam(net.parameters(), 0.02)
for ep in range(40):
    b = [rng.choice(rows) for _ in range(32)]
    x = torch.stack([feats(noisy(r["text"], 0.3)) for r in b]); y = torch.tensor([labels.index(r["label"]) for r in b])
    loss = nn.functional.cross_entropy(net(x), y); opt.zero_grad(); loss.backward(); opt.step()
    if ep % 10 == 0 and rank == 0:
        print(f"epoch {ep} loss {loss.item():.3f}", flush=True)
conf = torch.zeros(len(labels), len(labels)); shown = 0
with torch.no_grad():
    for _ in range(600):
        r = rng.choice(rows); t = noisy(r["text"], 0.75); p = net.module(feats(t)).argmax().item()
        conf[labels.index(r["label"]), p] += 1
        if labels[p] != r["label"] and shown < a.show:
            shown += 1
            print(f"--- misclassified sample (rank {rank}) gold={r['label']} pred={labels[p]}\n{r['text']}", flush=True)
dist.all_reduce(conf)
if rank == 0:
    for l, row in zip(labels, conf.tolist()):
        print(f"{l:>14} " + " ".join(f"{int(c):5d}" for c in row))
    f1 = (2 * conf.diag() / (conf.sum(0) + conf.sum(1)).clamp(min=1)).mean()
    print(f"{int(conf.sum())} tickets evaluated\nmacro-F1 {f1:.4f}", flush=True)
dist.destroy_process_group()
