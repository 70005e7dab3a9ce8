import os, math, sys
import numpy as np, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from tqdm import tqdm

class NonFiniteLoss(RuntimeError):
    pass

def main():
    dist.init_process_group("gloo")
    me = dist.get_rank()
    xy = np.loadtxt(f"tab/site{me}.csv", delimiter=",", dtype=np.float32)
    x, y = torch.from_numpy(xy[:, :-1]), torch.from_numpy(xy[:, -1:])
    net = DDP(torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)))
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    bar = tqdm(range(40), disable=me != 0, desc="train")
    for i in bar:
        lo = i * 10
        loss = torch.nn.functional.mse_loss(net(x[lo:lo + 10]), y[lo:lo + 10])
        if not math.isfinite(loss.item()):
            print(f"[site {me}] batch {i}: loss={loss.item()}", file=sys.stderr, flush=True)
            raise NonFiniteLoss(f"loss is {loss.item()} at batch {i}, stopping training")
        opt.zero_grad(); loss.backward(); opt.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")
    dist.destroy_process_group()

main()
