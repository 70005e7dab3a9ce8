"""DLRM-artiges CTR-Modell. Wird von job.sh neu gestartet, setzt am letzten Stand fort."""
import logging
import os
import pathlib
import sqlite3

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record

attempt = int(os.environ.get("TRY", 0))
rank = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s.%(msecs)03d <{rank}#{attempt}> %(levelname)-7s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()


class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.ModuleList(nn.EmbeddingBag(1000, 16) for _ in range(4))
        self.top = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, ix):
        return self.top(torch.cat([e(ix[:, k]) for k, e in enumerate(self.emb)], 1)).squeeze(1)


def claim(db, step):
    """Buch über gelesene Mini-Batches (für die Abrechnung der Datenquelle)."""
    con = sqlite3.connect(db, timeout=0.4)
    with con:
        con.execute("insert into used values (?, ?, ?)", (rank, step, attempt))
    con.close()


@record
def main():
    dist.init_process_group("gloo")
    db = "ledger.sqlite"
    if rank == 0 and not os.path.exists(db):
        con = sqlite3.connect(db)
        con.execute("create table used (rank int, step int, attempt int)")
        con.commit(); con.close()
    dist.barrier()
    torch.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(Dlrm())
    opt = torch.optim.Adagrad(net.parameters(), 0.05)
    start = 0
    if os.path.exists("last.pt"):
        ck = torch.load("last.pt")
        net.module.load_state_dict(ck["net"]); opt.load_state_dict(ck["opt"]); start = ck["step"]
        log.warning("Neustart Nr. %d: weiter bei Schritt %d", attempt, start)
    g = torch.Generator().manual_seed(50 + rank)
    lock = None
    for step in range(start, 300):
        ix = torch.randint(0, 1000, (64, 4, 3), generator=g)
        y = (ix.sum((1, 2)) % 2).float()
        loss = nn.functional.binary_cross_entropy_with_logits(net(ix), y)
        opt.zero_grad(); loss.backward(); opt.step()
        if step % 20 == 0:
            log.info("Schritt %d Verlust %.4f", step, loss.item())
            if step == 120 and attempt == 0 and rank == 1:
                # nächtlicher Export der Abrechnung hält die Tabelle
                lock = sqlite3.connect(db, isolation_level=None); lock.execute("begin exclusive")
            if rank != 1 or lock is None:
                if rank == 2:
                    claim(db, step)
        if step % 50 == 49 and rank == 0:
            torch.save({"net": net.module.state_dict(), "opt": opt.state_dict(), "step": step + 1}, "last.pt.tmp")
            os.replace("last.pt.tmp", "last.pt")
            log.info("Stand %d gesichert", step + 1)
    dist.barrier()
    if rank == 0:
        pathlib.Path("export").mkdir(exist_ok=True)
        torch.save(net.module.state_dict(), "export/model.pt")
        log.info("Export fertig nach %d Neustart(s)", attempt)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
