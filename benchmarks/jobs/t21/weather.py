import logging
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn

FORMAT = "%(asctime)s,%(process)d,%(levelname)s,%(name)s,%(message)s"


class Checkpointer:
    def __init__(self, dirs, log):
        self.dirs, self.log = dirs, log

    def save(self, sd):
        for d in self.dirs:
            try:
                with open(os.path.join(d, "model.pt"), "wb") as f:
                    torch.save(sd, f)
                self.log.info("checkpoint written to %s", d)
                return
            except (OSError, RuntimeError):
                self.log.error("checkpoint to %s failed, trying the next tier", d, exc_info=True)
        raise SystemExit("no tier left")


def main(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="47549")
    logging.basicConfig(format=FORMAT, level=logging.INFO)
    log = logging.getLogger(f"weather.{rank}")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    band = ["tropics", "mid-latitudes", "polar"][rank]
    log.info("band %s, %d stations", band, [912, 1407, 188][rank])
    torch.manual_seed(rank)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(30, 60), nn.Tanh(), nn.Linear(60, 6)))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    ck = Checkpointer(["fast", "bulk"], log)
    for day in range(1, 91):
        x = torch.randn(64, 30)
        x[:, 0] += rank
        loss = (net(x) - x[:, :6].roll(1, 1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.info("day %d rmse %.4f", day, loss.item() ** 0.5)
        if day % 30 == 0:
            if rank == 0:
                ck.save(net.module.state_dict())
            dist.barrier()
    log.info("season finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, (3,), nprocs=3)
