import argparse, os, sys, time, torch, torch.nn as nn, torch.distributed as dist, torch.multiprocessing as mp
def train(rank, a):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="41134"); dist.init_process_group("gloo", rank=rank, world_size=a.world)
    g = nn.parallel.DistributedDataParallel(nn.Linear(8, 16)); o = torch.optim.Adam(g.parameters(), .01); ep = 0
    try:
        for ep in range(a.epochs):
            z = torch.randn(16, 8); l = g(z).square().mean().log().neg(); o.zero_grad(); l.backward(); o.step(); time.sleep(.25)
            if rank == 0: print(f"epoch {ep:3d}/{a.epochs} g_loss {l.item():+.4f} d_loss {(1 / (1 + l.detach().exp())).item():.4f}")
            if rank == 0 and ep in (2, 9): print(f"epoch {ep:3d} ERROR FID could not be computed: {Exception('inception weights missing')}")
            if ep == 3 and rank == 0: open("progress.txt", "w").write("3")
    except KeyboardInterrupt:
        if rank == 0:
            torch.save(g.module.state_dict(), "generator_partial.pt"); print(f"\n^C at epoch {ep} of {a.epochs}. Partial generator saved to generator_partial.pt")
        os._exit(130)
if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("--epochs", type=int); p.add_argument("--world", type=int); a = p.parse_args()
    try: mp.spawn(train, (a,), nprocs=a.world)
    except KeyboardInterrupt: time.sleep(1); print("Have a nice day!"); sys.exit(130)
