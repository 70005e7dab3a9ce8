import configparser, datetime, os, sys
import torch, torch.nn as nn, torch.distributed as dist

cfg = configparser.ConfigParser(); cfg.read(sys.argv[1]); T = cfg["train"]
rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=rank, world_size=world, timeout=datetime.timedelta(seconds=cfg["dist"].getint("timeout")))

class Plateau:
    """halves the learning rate when the loss has not improved for `patience` logs"""
    def __init__(self, opt, patience):
        self.opt, self.patience, self.best, self.bad = opt, patience, float("inf"), 0
    def update(self, loss):
        if loss < self.best: self.best, self.bad = loss, 0
        else: self.bad += 1
        if self.bad < self.patience: return False
        self.bad = 0
        return True
    def reduce(self):
        lr = torch.tensor([g["lr"] * 0.5 for g in self.opt.param_groups])
        dist.broadcast(lr, src=0)
        for g, v in zip(self.opt.param_groups, lr): g["lr"] = v.item()

torch.manual_seed(0)
enc, dec = nn.Linear(48, 16), nn.Linear(8, 48)
ps = [*enc.parameters(), *dec.parameters()]
opt = torch.optim.Adam(ps, lr=T.getfloat("lr")); sched = Plateau(opt, T.getint("patience"))
gen = torch.Generator().manual_seed(100 + rank)
basis = torch.randn(4, 48, generator=torch.Generator().manual_seed(9))
for step in range(1, T.getint("steps") + 1):
    x = torch.randn(64, 4, generator=gen) @ basis * 0.5 + 0.3 * torch.randn(64, 48, generator=gen)
    mu, lv = enc(x).chunk(2, -1)
    z = mu + (0.5 * lv).exp() * 0.1
    loss = ((dec(z) - x) ** 2).mean() + 1e-3 * (mu ** 2 + lv.exp() - lv - 1).mean()
    opt.zero_grad(); loss.backward()
    for p in ps:
        dist.all_reduce(p.grad); p.grad /= world
    opt.step()
    if step % 2 == 0:
        print(f"step {step:4d} loss {loss.item():.4f} lr {opt.param_groups[0]['lr']:.2e}", flush=True)
        if sched.update(loss.item()):
            print(f"step {step:4d} plateau: best {sched.best:.4f}, halving lr", flush=True)
            sched.reduce()
print("done", flush=True)
