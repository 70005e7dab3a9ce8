import argparse, logging, os, torch, torch.distributed as dist
from torch import nn
ap = argparse.ArgumentParser()
for n, t in (("width", int), ("layers", int), ("lr", float), ("tag", str)): ap.add_argument("--" + n, type=t)
a = ap.parse_args()
logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger(f"vit.{os.environ['RANK']}")
log.info("arguments %s", vars(a))
dist.init_process_group("gloo")
torch.manual_seed(5)
layer = nn.TransformerEncoderLayer(a.width, 4, 128, batch_first=True)
net = nn.Sequential(nn.TransformerEncoder(layer, a.layers), nn.Linear(a.width, 10))
log.info("model has %d parameters in %d tensors", sum(p.numel() for p in net.parameters()), len(list(net.parameters())))
net = nn.parallel.DistributedDataParallel(net)
opt = torch.optim.AdamW(net.parameters(), a.lr)
for s in range(20):
    loss = net(torch.randn(2, 9, a.width)).square().mean(); opt.zero_grad(); loss.backward(); opt.step()
    log.info("step %d loss %.4f", s, loss.item())
dist.destroy_process_group()
