import json, logging, os, sys
import numpy as np, torch, torch.distributed as dist, torch.nn as nn

class RankFormatter(logging.Formatter):
    def format(self, rec):
        rec.rk = os.environ.get("RANK", "?"); return super().format(rec)

h = logging.StreamHandler(); h.setFormatter(RankFormatter("%(levelname)s:%(rk)s:%(module)s.%(funcName)s:%(message)s"))
logging.basicConfig(level=logging.INFO, handlers=[h]); lg = logging.getLogger()

class EarlyStopping:
    def __init__(self, patience): self.best, self.bad, self.patience = float("inf"), 0, patience
    def update(self, v):
        if v < self.best - 1e-3: self.best, self.bad = v, 0
        else: self.bad += 1
        return self.bad >= self.patience

class Trainer:
    def __init__(self, c):
        self.c = c; self.rank, self.world = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(0); torch.set_num_threads(1)
        layers = [nn.Linear(12, c["model"]["hidden"]), nn.ReLU()]
        for _ in range(c["model"]["layers"]): layers += [nn.Linear(c["model"]["hidden"], c["model"]["hidden"]), nn.ReLU()]
        self.net = nn.Sequential(*layers, nn.Linear(c["model"]["hidden"], 3))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=c["lr"])
        z = np.load(f"{c['data']}/p{self.rank}.npz")
        x, y = torch.tensor(z["x"]), torch.tensor(z["y"]).long()
        self.tr, self.va = (x[:128], y[:128]), (x[128:], y[128:])
        self.stop = EarlyStopping(c["patience"])

    def fit(self):
        for ep in range(self.c["max_epochs"]):
            for i in range(0, 128, 32):
                loss = nn.functional.cross_entropy(self.net(self.tr[0][i:i + 32]), self.tr[1][i:i + 32])
                self.opt.zero_grad(); loss.backward()
                for p in self.net.parameters(): dist.all_reduce(p.grad); p.grad /= self.world
                self.opt.step()
            with torch.no_grad(): v = nn.functional.cross_entropy(self.net(self.va[0]), self.va[1]).item()
            lg.info("epoch %d train %.4f val %.4f best %.4f", ep, loss.item(), v, self.stop.best)
            if self.stop.update(v):
                lg.info("no improvement for %d epochs, stopping after epoch %d", self.c["patience"], ep)
                break
        return self.summary()

    def summary(self):
        out = [torch.zeros(1) for _ in range(self.world)]
        dist.all_gather(out, torch.tensor([self.stop.best]))
        lg.info("best val per rank %s", [round(o.item(), 4) for o in out]); return out

if __name__ == "__main__":
    dist.init_process_group("gloo")
    Trainer(json.load(open(sys.argv[1]))).fit()
    dist.destroy_process_group()
