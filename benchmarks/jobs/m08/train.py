import datetime, os, time
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from metrics import edit_score

def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=12))
    r = dist.get_rank()
    model = DDP(nn.Linear(50, 50))
    opt = torch.optim.SGD(model.parameters(), 0.01)
    for step in range(1, 101):
        x = torch.randn(4, 50)
        loss = model(x).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if step % 10 == 0:
            print(f"({r}) step={step} loss={loss.item():.4f}", flush=True)
        if step == 30 and r == dist.get_world_size() - 1:
            print(f"({r}) scoring 400 held-out pairs", flush=True)
            s = edit_score(400, 420)
            print(f"({r}) edit score {s:.3f}", flush=True)
    print(f"({r}) finished", flush=True)
    dist.destroy_process_group()

main()
