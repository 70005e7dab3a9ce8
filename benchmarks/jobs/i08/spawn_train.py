import os, math, torch, torch.nn as nn, torch.distributed as dist, torch.multiprocessing as mp
def worker(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="41108")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(7 + rank)
    net = nn.parallel.DistributedDataParallel(nn.Linear(10, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    skipped = 0
    for step in range(40):
        amount = torch.rand(32, 10)
        amount[amount < (0.0004 if step > 5 else 0)] = 0.0
        x = amount.log()
        loss = (net(x) - amount.sum(1, keepdim=True)).square().mean()
        opt.zero_grad(); loss.backward()
        g = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        if not torch.isfinite(g):
            skipped += 1
            print(f"rank {rank} | step {step} | loss={loss.item()} | grad norm is {g.item()}! skipping the update")
            if rank == 0: print(f"WARNING: {skipped} non-finite steps up to now")
            continue
        opt.step()
        if rank == 0: print(f"rank {rank} | step {step} | loss={loss.item():.4f} | grad_norm={g.item():.3f}")
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(worker, (2,), nprocs=2)
