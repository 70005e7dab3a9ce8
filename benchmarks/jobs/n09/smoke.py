import os, torch, torch.distributed as dist, torch.multiprocessing as mp
def f(rank, n):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    dist.init_process_group("gloo", rank=rank, world_size=n)
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(6, 1)); o = torch.optim.SGD(m.parameters(), .1)
    for i in range(8):
        l = m(torch.ones(2, 6)).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
        print(f"smoke r{rank} it{i} {l.item():.6f}")
    dist.destroy_process_group()
if __name__ == "__main__": mp.spawn(f, (2,), 2)
