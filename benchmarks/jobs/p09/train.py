# Mehrstufiges Training: erst Rückgrat, dann Hilfskopf, dann beide
import argparse, os, logging, torch, torch.nn as nn, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--stages", type=int); a = ap.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank()
logging.basicConfig(format=f"%(asctime)s R{rank} %(levelname)-7s %(name)s | %(message)s", level="INFO" if rank == 0 else "WARNING")
log = logging.getLogger("detector")

class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 40))
        self.box, self.cls = nn.Linear(40, 4), nn.Linear(40, 7)
    def forward(self, x, use_box=True):
        h = self.backbone(x)
        return self.cls(h), (self.box(h) if use_box else None)

def pretrained():
    for p in ("weights/backbone_v3.pt", "weights/backbone_v2.pt"):
        try:
            return torch.load(p)
        except OSError as e:
            log.error("pretrained weights not loaded: %s", e)
    log.warning("training the backbone from random weights")

torch.manual_seed(1); m = Detector(); pretrained()
try:
    m2 = torch.compile(m, backend="tensorrt")
    m2(torch.randn(2, 20))
except Exception as e:
    log.warning("torch.compile not used: %s", str(e).splitlines()[0])
ddp = nn.parallel.DistributedDataParallel(m)
opt = torch.optim.AdamW(ddp.parameters(), 1e-3)
for stage in range(a.stages):
    joint = stage == 0
    log.info("=== stage %d: %s", stage, "cls+box" if joint else "cls only")
    for it in range(60):
        x = torch.randn(8, 20)
        c, b = ddp(x, use_box=joint)
        loss = c.logsumexp(1).mean() - c[:, 0].mean() + (b.pow(2).mean() if joint else 0)
        opt.zero_grad(); loss.backward(); opt.step()
        if it % 3 == 0:
            log.info("stage %d it %d loss %.4f", stage, it, loss.item())
    log.info("stage %d done", stage)
dist.destroy_process_group()
