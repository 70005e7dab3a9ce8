# alignement phonétique - entraînement sur des lots inégaux
import os, sys, time
os.environ["RANK"], os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_RANK"], os.environ["OMPI_COMM_WORLD_SIZE"]
import torch, torch.distributed as dist, torch.nn as nn
from torch.distributed.algorithms.join import Join
dist.init_process_group("gloo")
r = dist.get_rank()
lots = [150, 150, 83][r]
def dire(*m): print(f"[{r}]", *m, flush=True)
dire(f"corpus {['a', 'b', 'c'][r]}: {lots} lots")
if r == 2:
    print(f"[{r}] ATTENTION: corpus c incomplet (83 lots sur 150), fichier c/0084.wav: Error opening: format inconnu", file=sys.stderr, flush=True)
torch.manual_seed(0)
m = nn.parallel.DistributedDataParallel(nn.GRU(40, 64, batch_first=True))
opt = torch.optim.SGD(m.parameters(), 0.05)
t = time.time(); total = 0.0
with Join([m]):
    for i in range(lots):
        x = torch.randn(8, 30, 40)
        perte = m(x)[0].pow(2).mean(); opt.zero_grad(); perte.backward(); opt.step(); total += perte.item()
        if i % 5 == 0: dire(f"lot {i:3d} perte {perte.item():.5f}")
    dire(f"plus de données après {lots} lots, attend les autres rangs")
dire(f"fini: perte moyenne {total / lots:.5f}, {time.time() - t:.1f} s")
dist.barrier()
if r == 0:
    torch.save(m.module.state_dict(), "align.pt"); dire("modèle écrit: align.pt")
dist.destroy_process_group()
