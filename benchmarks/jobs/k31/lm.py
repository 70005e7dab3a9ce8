import json, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo"); c = json.load(open("data/config.json")); v = open("data/vocab.txt").read().split()
m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(len(v), c["d"]), nn.Linear(c["d"], len(v)))); o = torch.optim.Adam(m.parameters(), 1e-2)
for i in range(c["steps"]):
    t = torch.randint(0, len(v), (32,)); l = nn.functional.cross_entropy(m(t), t); o.zero_grad(); l.backward(); o.step()
    if dist.get_rank() == 0 and i % 10 == 9: print("| %4d | %7.4f |" % (i + 1, l.item()), flush=True)
dist.destroy_process_group()
