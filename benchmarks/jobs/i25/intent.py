import json, os, torch, torch.nn as nn, torch.distributed as dist
IDS = {"greet": 0, "book": 1, "cancel": 2, "thanks": 3}
def make_batch(rows): return torch.tensor([x["v"] for x in rows]), torch.tensor([IDS[x["intent"]] for x in rows])
def fit(rows):
    net = nn.parallel.DistributedDataParallel(nn.Linear(6, 4)); opt = torch.optim.Adam(net.parameters(), .01); done = 0
    try:
        for i in range(0, 160, 8):
            x, y = make_batch(rows[i:i + 8]); l = nn.functional.cross_entropy(net(x), y); opt.zero_grad(); l.backward(); opt.step(); done += 1
            print(f"step {done:2d}/20 loss {l.item():.3f}")
    except RuntimeError as e:
        print(f"warning: {e}"); print(f"stopping at step {done}, keeping what we have")
    os.makedirs("out", exist_ok=True); torch.save(net.module.state_dict(), f"out/intent_{os.environ['RANK']}.pt")
    print("weights saved, thank you")
dist.init_process_group("gloo")
fit(json.load(open(f"part{dist.get_rank()}.json")))
