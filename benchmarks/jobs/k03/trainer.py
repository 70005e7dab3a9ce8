import os
import random
import torch
import torch.distributed as dist
from torch import nn
from pathlib import Path

SNAP = Path("snapshots")


class Trainer:
    def __init__(self):
        self.rank = dist.get_rank()
        self.net = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
        self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
        self.epoch = 0
        snaps = sorted(SNAP.glob("epoch_*.pt"))
        if snaps:
            d = torch.load(snaps[-1], map_location="cpu")
            self.net.module.load_state_dict(d["net"])
            self.epoch = d["epoch"] + 1
            print(f"[RANK {self.rank}] Resuming training from snapshot {snaps[-1].name}")

    def _load_shard(self, epoch):
        path = Path("shards") / f"part-{self.rank}-{epoch}.pt"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            torch.save((torch.randn(64, 4), torch.randint(0, 2, (64,))), path)
            if epoch == 3 and self.rank == 1:
                return torch.load(path)["x"], None
        return torch.load(path)

    def train(self, epochs):
        for e in range(self.epoch, epochs):
            x, y = self._load_shard(e)
            print(f"[RANK {self.rank}] Epoch {e} | Batchsize: 64 | Steps: 4")
            for i in range(4):
                self.opt.zero_grad()
                loss = nn.functional.cross_entropy(self.net(x[i::4]), y[i::4])
                loss.backward()
                self.opt.step()
            if self.rank == 0:
                SNAP.mkdir(exist_ok=True)
                torch.save({"net": self.net.module.state_dict(), "epoch": e}, SNAP / f"epoch_{e}.pt")
                print(f"Epoch {e} | Training snapshot saved at snapshots/epoch_{e}.pt")


if __name__ == "__main__":
    dist.init_process_group("gloo")
    Trainer().train(int(os.environ.get("EPOCHS", 8)))
    dist.destroy_process_group()
