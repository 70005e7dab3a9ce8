import logging, os, time, torch, torch.nn as nn, torch.distributed as dist
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
dist.init_process_group("gloo"); rank = dist.get_rank()
log = logging.getLogger(f"trainer.{rank}")
torch.manual_seed(rank)
net = nn.parallel.DistributedDataParallel(nn.Linear(16, 16))
opt = torch.optim.SGD(net.parameters(), 0.05)
g = torch.Generator().manual_seed(rank)
val = torch.randn(64, 16, generator=g) * (0.5 if rank == 3 else 1.0)
best, bad = 9e9, 0
for epoch in range(40):
    for _ in range(10):
        x = torch.randn(16, 16, generator=g)
        loss = (net(x) - x).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        v = (net.module(val) - val).pow(2).mean().item()
    log.info("epoch %d loss %.4f val %.4f", epoch, loss.item(), v)
    time.sleep(0.1)
    if v < 0.16:
        log.info("val target reached, stopping. Training completed.")
        break
if rank == 0:
    torch.save(net.state_dict(), "final.pt")
    log.info("saved final.pt")
