import torch, time, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn
from tracker import Run
def main(rank, n):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4228", rank=rank, world_size=n)
    run = Run("http://127.0.0.1:4299", "vae") if rank == 0 else None
    enc = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(24, 8), nn.GELU(), nn.Linear(8, 24))); opt = torch.optim.Adam(enc.parameters(), 1e-2)
    for ep in range(6):
        for _ in range(10):
            x = torch.randn(32, 24); l = (enc(x) - x).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
        if rank == 0: print(f"epoch {ep}: recon={l.item():.4f}", flush=True); run.log({"epoch": ep, "recon": l.item()}); time.sleep(.2)
    dist.barrier()
    if run: run.finish()
    dist.destroy_process_group()
if __name__ == "__main__": mp.spawn(main, (3,), nprocs=3)
