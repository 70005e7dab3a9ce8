import argparse, logging, os, datetime
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

BOXES = ["gpu-a", "gpu-b", "gpu-c", "gpu-d"]

def site_settings(box):
    out = {}
    with open(os.path.join("site", box + ".env")) as f:
        for line in f:
            line = line.strip()
            if line and not line.startswith("#"):
                k, v = line.split("=", 1)
                out[k] = v
    return out

class Tower(nn.Module):
    def __init__(self, d_in, hidden, layers):
        super().__init__()
        mods, d = [], d_in
        for _ in range(layers):
            mods += [nn.Linear(d, hidden), nn.GELU()]
            d = hidden
        self.body = nn.Sequential(*mods)
        self.head = nn.Linear(hidden, 128)
    def forward(self, x):
        return nn.functional.normalize(self.head(self.body(x)), dim=-1)

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int); ap.add_argument("--batch", type=int); ap.add_argument("--lr", type=float)
    a = ap.parse_args()
    rank = int(os.environ["RANK"])
    box = BOXES[rank]
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {box}/r{rank} %(name)s %(levelname)s: %(message)s")
    log = logging.getLogger("tower")
    env = site_settings(box)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    log.info("joined, world=%d torch=%s", dist.get_world_size(), torch.__version__)
    torch.manual_seed(7)
    m = Tower(96, int(env["PROJ_HIDDEN"]), int(env["PROJ_LAYERS"]))
    log.info("tower hidden=%s tensors=%d params=%.2fM", env["PROJ_HIDDEN"], len(list(m.parameters())), sum(p.numel() for p in m.parameters()) / 1e6)
    log.info("batch=%d lr=%g epochs=%d", a.batch, a.lr, a.epochs)
    model = DDP(m)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    for ep in range(a.epochs):
        for it in range(40):
            x = torch.randn(a.batch, 96)
            u, v = model(x), model(x + 0.1 * torch.randn_like(x))
            loss = nn.functional.cross_entropy(u @ v.t() / 0.07, torch.arange(a.batch))
            opt.zero_grad(); loss.backward(); opt.step()
            if it % 10 == 0:
                log.info("ep %d it %d loss %.4f", ep, it, loss.item())
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
