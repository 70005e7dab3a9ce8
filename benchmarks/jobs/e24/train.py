import json, os
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from model import build
dist.init_process_group("gloo"); r = dist.get_rank()
cfg = json.load(open(f"node{r}/model.json"))
net = build(cfg)
print(f"node{r}: {cfg} -> {sum(p.numel() for p in net.parameters())} parameters", flush=True)
net = DistributedDataParallel(net)
opt = torch.optim.SGD(net.parameters(), cfg["lr"])
for i in range(20):
    l = net(torch.randn(4, 32)).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    print(f"node{r}: {i} {l.item():.5f}", flush=True)
