import argparse, json, yaml, torch, torch.nn as nn, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--config"); cfg = yaml.safe_load(open(p.parse_args().config))
dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size()
rows = [json.loads(l) for l in open("tickets.jsonl")]
labs = sorted({x["label"] for x in rows})
if r == 0:
    print(f"{len(rows)} tickets, labels {labs}")
    for i, x in enumerate(rows[: cfg["show_samples"]]):
        print(f"--- sample {i}  label={x['label']}\n{x['text']}", flush=True)
    print("---", flush=True)
def feats(t):
    v = torch.zeros(256)
    for a, b in zip(t, t[1:]): v[(ord(a) * 31 + ord(b)) % 256] += 1
    return v / len(t)
mine = rows[r::w]
net = nn.parallel.DistributedDataParallel(nn.Linear(256, len(labs))); opt = torch.optim.Adam(net.parameters(), cfg["lr"] * 10)
for s in range(cfg["steps"]):
    b = [mine[(s * cfg["batch"] + k) % len(mine)] for k in range(cfg["batch"])]
    loss = nn.functional.cross_entropy(net(torch.stack([feats(x["text"]) for x in b])), torch.tensor([labs.index(x["label"]) for x in b]))
    opt.zero_grad(); loss.backward(); opt.step()
    if r == 0 and s % 3 == 0: print({"step": s, "loss": round(loss.item(), 4)}, flush=True)
if r == 0:
    with torch.no_grad():
        for x in rows[:8]:
            print(f"pred={labs[net.module(feats(x['text'])).argmax()]:6s} true={x['label']:6s} | {x['text'].splitlines()[-1][:70]}")
    print("accuracy", sum(labs[net.module(feats(x["text"])).argmax()] == x["label"] for x in rows) / len(rows))
dist.destroy_process_group()
