import os, logging, resource
from datetime import timedelta
import torch, torch.distributed as dist
import torch.nn as nn

box, rank = os.environ["BOX"], int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] " + box + ": %(message)s")
L = logging.getLogger()


def rss():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize() >> 20


class Scans:
    def __init__(self, cache):
        self.cache = {} if cache else None

    def get(self, i):
        if self.cache is not None and i in self.cache:
            return self.cache[i]
        g = torch.Generator().manual_seed(i)
        vol = torch.rand(4, 1, 160, 2048, generator=g) * 2
        vol = torch.cat([vol, vol.flip(-1)], dim=1).contiguous()
        if self.cache is not None:
            self.cache[i] = vol
        return vol


dist.init_process_group("gloo", timeout=timedelta(seconds=40))
L.info("rank %d of %d joined, pid %d, decoded cache %s", rank, dist.get_world_size(), os.getpid(), "on" if os.environ["CACHE_DECODED"] == "1" else "off")
net = nn.Sequential(nn.Conv2d(2, 2, 3, padding=1, stride=4), nn.ReLU(), nn.Conv2d(2, 1, 1))
net = nn.parallel.DistributedDataParallel(net)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
data = Scans(os.environ["CACHE_DECODED"] == "1")
for it in range(160):
    v = data.get(it * 3 + rank)
    loss = net(v).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 8 == 0:
        L.info("iter %d loss %.4f rss %d MB", it, loss.item(), rss())
L.info("done")
