import os, time, torch, torch.distributed as dist, torch.multiprocessing as mp
def actor(rank, n):
    os.environ["MASTER_ADDR"] = "127.0.0.1"; os.environ["MASTER_PORT"] = "29832"
    dist.init_process_group("gloo", rank=rank, world_size=n)
    ret = torch.zeros(1)
    for ep in range(200):
        ret = ret * 0.9 + torch.rand(1)
        avg = ret.clone(); dist.all_reduce(avg)
        if rank == 0:
            print(f"episode {ep:3d} return {avg.item() / n:.3f}", flush=True)
            open("episode", "w").write(str(ep))
        time.sleep(0.3)
if __name__ == "__main__":
    open("main.pid", "w").write(str(os.getpid()))
    mp.spawn(actor, args=(2,), nprocs=2)
