import os, time, logging
import torch, torch.nn as nn, torch.nn.functional as F
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
log = logging.getLogger("train")

class CharLM(nn.Module):
    def __init__(self, v=96, d=64):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, v)
    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])

dist.init_process_group("gloo")
rank = dist.get_rank()
os.makedirs("run", exist_ok=True)
open(f"run/{rank}.pid", "w").write(str(os.getpid()))
metrics = open(f"run/metrics_{rank}.csv", "w", buffering=1)
torch.manual_seed(rank)
model = DDP(CharLM())
opt = torch.optim.AdamW(model.parameters(), 3e-4)
if rank == 0:
    log.info("model has %d parameters", sum(p.numel() for p in model.parameters()))
for step in range(1, 201):
    t = time.time()
    x = torch.randint(0, 96, (8, 65))
    loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.4)
    metrics.write(f"{step},{loss.item():.4f}\n")
    if rank == 0:
        log.info("step %d/200 loss %.4f %.2fs/it", step, loss.item(), time.time() - t)
