import json, os, sys, time
from datetime import timedelta
import torch, torch.distributed as dist


class Trainer:
    def __init__(self, max_epochs, timeout_s=15):
        self.max_epochs = max_epochs
        dist.init_process_group("gloo", timeout=timedelta(seconds=timeout_s))
        self.global_rank, self.world_size = dist.get_rank(), dist.get_world_size()

    def log(self, **kw):
        print(json.dumps({"time": round(time.time(), 2), "rank": self.global_rank, **kw}), flush=True)

    def fit(self, module, dm):
        self.log(msg="fit", world_size=self.world_size)
        if self.global_rank == 0:
            dm.prepare_data(self)
        dist.barrier()
        dm.setup(self)
        opt = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            for i, b in enumerate(dm.train_batches(epoch, self.global_rank, self.world_size)):
                loss = module.training_step(b)
                opt.zero_grad(); loss.backward()
                for p in module.parameters():
                    dist.all_reduce(p.grad); p.grad /= self.world_size
                opt.step()
            self.log(epoch=epoch, loss=round(loss.item(), 4))
        dist.destroy_process_group()
