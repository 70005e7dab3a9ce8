import os, logging, time, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {os.environ['GROUP_RANK']}:{rank} %(message)s")
    logging.info("pid %d, %d processes", os.getpid(), dist.get_world_size())
    net = DDP(nn.Sequential(nn.Linear(100, 400), nn.SiLU(), nn.Linear(400, 100)))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4)
    for s in range(1, 200):
        x = torch.randn(32, 100); loss = nn.functional.mse_loss(net(x), x)
        opt.zero_grad(); loss.backward()
        g = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step(); time.sleep(0.2)
        if s % 4 == 0: logging.info("step %d/200 loss %.4f gnorm %.3f lr %.1e", s, loss.item(), g, 2e-4)
main()
