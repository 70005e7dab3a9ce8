import argparse, os, socket, sys, time, traceback
import torch, torch.distributed as dist, yaml
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
ap = argparse.ArgumentParser(); ap.add_argument("--conf"); a = ap.parse_args()
R, W = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
os.environ.update(RANK=str(R), WORLD_SIZE=str(W), MASTER_ADDR="127.0.0.1", MASTER_PORT="47311")


def out(m):
    print(time.strftime("%d.%m %H:%M:%S"), f"[{R}:{W}]", m, flush=True)


cfg = yaml.safe_load(open(a.conf))
for sec, kv in cfg.items():
    for k, v in kv.items():
        out(f"conf {sec}.{k} = {v}")
dist.init_process_group("gloo")
out(f"process group up on {socket.gethostname()}, backend {dist.get_backend()}")
t = torch.ones(1); dist.all_reduce(t); out(f"all_reduce check {t.item():.0f} ok")
c = cfg["model"]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln, self.up, self.down = nn.LayerNorm(c["hidden"]), nn.Linear(c["hidden"], 4 * c["hidden"]), nn.Linear(4 * c["hidden"], c["hidden"])

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.ln(x))))


torch.manual_seed(0)
net = nn.Sequential(nn.Embedding(c["vocab"], c["hidden"]), *[Block() for _ in range(c["layers"])], nn.Linear(c["hidden"], c["vocab"]))
for n, p in net.named_parameters():
    out(f"  {n:22s} {list(p.shape)}")
try:
    mesh = init_device_mesh("cpu", (cfg["mesh"]["dp"], cfg["mesh"]["tp"]), mesh_dim_names=("dp", "tp"))
    for b in net[1:-1]:
        parallelize_module(b, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    opt = torch.optim.AdamW(net.parameters(), cfg["train"]["lr"])
    for s in range(cfg["train"]["steps"]):
        x = torch.randint(0, c["vocab"], (cfg["train"]["micro_batch"], c["seq"]))
        l = nn.functional.cross_entropy(net(x).flatten(0, 1), x.roll(-1, 1).flatten())
        opt.zero_grad(); l.backward(); opt.step(); out(f"step {s} loss {l.item():.3f}")
except Exception:
    traceback.print_exc()
    out("state at exit:")
    for k in sorted(k for k in os.environ if k.startswith(("RANK", "WORLD", "MASTER", "OMP_", "GLOO"))):
        out(f"  {k}={os.environ[k]}")
    out(f"  threads={torch.get_num_threads()}")
    out("leaving")
    sys.exit(4)
