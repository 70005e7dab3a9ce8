import logging, os
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from data import batches, parse_line

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("train")

model = DDP(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
skipped = 0
for epoch in range(2):
    for step, lines in batches("train.jsonl", rank, world):
        xs, ys = [], []
        for n, line in enumerate(lines):
            try:
                x, y = parse_line(line)
                xs.append(x)
                ys.append(y)
            except Exception:
                skipped += 1
                log.exception("could not parse record %d of batch %d, skipping it", n, step)
        loss = ((model(torch.stack(xs)).squeeze(-1) - torch.tensor(ys)) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 0:
            log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
log.info("skipped %d records", skipped)
dist.barrier()
if rank == 0:
    torch.save(model.module.state_dict(), "model.pt")
    log.info("Done")
dist.destroy_process_group()
