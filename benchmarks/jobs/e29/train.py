import torch, torch.distributed as dist, time
import torch.multiprocessing as mp
from metrics import Registry
def main(i, n):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29749", rank=i, world_size=n)
    reg = Registry("runs/a") if i == 0 else None
    W = torch.randn(20, 20)
    for step in range(1, 100):
        g = torch.randn(20, 20); dist.all_reduce(g); W -= 0.01 * g
        if reg:
            for k in range(4): reg.get(f"sample_{step:03d}_{k}").add(step, W[k].norm().item())
        if step % 10 == 0: print(f"{i}> step {step} norm {W.norm().item():.3f}", flush=True)
if __name__ == "__main__":
    mp.start_processes(main, (4,), nprocs=4, start_method="spawn")
