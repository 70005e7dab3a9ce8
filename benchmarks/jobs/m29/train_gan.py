import json, os, torch, torch.nn as nn, torch.distributed as dist
LR = int(os.environ["LOCAL_RANK"])
conf = json.load(open("experiment.json"))
cores = conf["placement"][LR]["cores"]
os.sched_setaffinity(0, set(range(*cores)) )
torch.set_num_threads(1)
print(f"pinned to {sorted(os.sched_getaffinity(0))}", flush=True)
dist.init_process_group("gloo")
G = nn.parallel.DistributedDataParallel(nn.Linear(8, 16))
D = nn.parallel.DistributedDataParallel(nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for it in range(conf["iters"]):
    real, fake = torch.randn(32, 16), G(torch.randn(32, 8))
    ld = D(fake.detach()).mean() - D(real).mean()
    od.zero_grad(); ld.backward(); od.step()
    lg = -D(fake).mean(); og.zero_grad(); lg.backward(); og.step()
    if it % 10 == 0 and LR == 0: print(it, round(ld.item(), 3), round(lg.item(), 3), flush=True)
