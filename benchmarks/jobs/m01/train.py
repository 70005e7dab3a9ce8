import argparse, os, time
import numpy as np
import torch, torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def load_shard(root, idx):
    path = os.path.join(root, f"train-{idx:05d}.npy")
    return torch.from_numpy(np.load(path))

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="data/shards")
    ap.add_argument("--steps", type=int, default=40)
    a = ap.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    print(f"world size {dist.get_world_size()}, torch {torch.__version__}", flush=True)
    x = load_shard(a.data, rank)
    print("loaded", tuple(x.shape), flush=True)
    model = DDP(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16)))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for s in range(a.steps):
        b = x[torch.randint(0, len(x), (64,))]
        loss = ((model(b) - b) ** 2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if s % 5 == 0 and rank == 0:
            print(f"step {s} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
