import os, sys, time, torch, torch.distributed as dist, torch.multiprocessing as mp
def work(rank, n):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="4529"); dist.init_process_group("gloo", rank=rank, world_size=n)
    print(f"({rank}) warning: shard index is older than the data, using it anyway"); s = 0
    w = torch.zeros(8)
    try:
        for s in range(5000):
            x = torch.randn(16, 8); g = x.t() @ (x @ w - 1) / 16; dist.all_reduce(g); w -= .01 * g; time.sleep(.25)
            if s % 4 == 0: print(f"({rank}) step {s}/5000 loss {(x @ w - 1).pow(2).mean():.4f}")
    except KeyboardInterrupt:
        print(f"({rank}) interrupted from keyboard at step {s}, leaving")
        if rank == 0: torch.save(w, "interrupted.pt"); print("(0) wrote interrupted.pt")
if __name__ == "__main__":
    try: mp.spawn(work, args=(2,), nprocs=2)
    except KeyboardInterrupt:
        time.sleep(1); print("Stopped early. Resume with: python start.py --from interrupted.pt\nTschüss!"); sys.exit(130)
