import logging, os, numpy as np, torch
import torch.distributed as dist
from torch import nn
R = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s | r{R} | %(levelname)-7s | %(message)s")
L = logging.getLogger()

class Trainer:
    def __init__(self):
        dist.init_process_group("gloo")
        torch.manual_seed(1)
        self.net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16)))
        self.opt = torch.optim.SGD(self.net.parameters(), 0.05)
        L.info("Prozessgruppe bereit, %d Ranks", dist.get_world_size())
    def load(self, ep):
        fn = f"data/ep{ep}_r{R}.npy"
        x = torch.from_numpy(np.load(fn))
        L.info("Lade %s: %s", fn, tuple(x.shape))
        return x
    def fit(self):
        for ep in range(4):
            x = self.load(ep)
            for i in range(0, len(x), 16):
                loss = (self.net(x[i:i+16]) - x[i:i+16]).pow(2).mean()
                self.opt.zero_grad(); loss.backward(); self.opt.step()
                L.info("Epoche %d Schritt %d Verlust %.4f", ep, i // 16, loss.item())
            L.info("Epoche %d fertig", ep)
try:
    Trainer().fit()
except Exception:
    L.exception("Training abgebrochen")
    raise SystemExit(1)
