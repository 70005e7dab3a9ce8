import os, time, torch, torch.distributed as dist, torch.multiprocessing as mp
def rank_main(r):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="47120")
    dist.init_process_group("gloo", rank=r, world_size=2)
    w = torch.zeros(20)
    for ep in range(5):
        for b in range(30):
            x = torch.randn(16, 20); y = x[:, 0] - x[:, 3]
            g = x.T @ (x @ w - y) / 16; dist.all_reduce(g); w -= 0.05 * g / 2
            print(f"ranker r{r} ep{ep} b{b:02d} mse {((x @ w - y) ** 2).mean():.5f}")
    if r == 0: torch.save(w, "ranker.pt"); print("ranker r0 saved ranker.pt")
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.start_processes(rank_main, nprocs=2, start_method="fork")
    print("ranker: training complete")
