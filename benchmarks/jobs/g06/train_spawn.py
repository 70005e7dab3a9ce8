import os, datetime
import torch, torch.distributed as dist, torch.multiprocessing as mp

def make_store(rank, world, q):
    if rank == 0:
        for port in range(31706, 31716):
            try:
                st = dist.TCPStore("127.0.0.1", port, world, True, wait_for_workers=False, timeout=datetime.timedelta(seconds=30))
                break
            except (RuntimeError, dist.DistNetworkError) as e:
                print(f"ERROR: cannot listen on port {port}: {type(e).__name__}: {e}", flush=True)
        for _ in range(world - 1): q.put(port)
        print(f"rendezvous on port {port}", flush=True)
        return st
    return dist.TCPStore("127.0.0.1", q.get(), world, False, timeout=datetime.timedelta(seconds=30))

def run(rank, world, q):
    dist.init_process_group("gloo", store=make_store(rank, world, q), rank=rank, world_size=world)
    w = torch.zeros(10, requires_grad=True)
    for ep in range(6):
        x = torch.randn(256, 10) ; y = x @ torch.arange(10.) 
        loss = ((x @ w - y) ** 2).mean(); loss.backward()
        dist.all_reduce(w.grad); w.data -= 0.1 * w.grad / world; w.grad = None
        print(f"({rank}) epoch {ep}: mse={loss.item():.3f}", flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    q = mp.get_context("spawn").SimpleQueue()
    mp.spawn(run, (2, q), nprocs=2)
