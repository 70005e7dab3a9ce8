import os, time
import numpy as np, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def load_shard(epoch, rank, world):
    idx = epoch * world + rank
    return torch.from_numpy(np.load(f"data/tokens/shard-{idx:05d}.npy"))

def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Embedding(512, 32), nn.Linear(32, 512)))
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(3):
        toks = load_shard(epoch, rank, world)
        for step in range(0, len(toks), 64):
            x = toks[step:step + 64]
            loss = nn.functional.cross_entropy(model(x[:, :-1]).reshape(-1, 512), x[:, 1:].reshape(-1))
            opt.zero_grad(); loss.backward(); opt.step()
            if rank == 0:
                print(f"epoch {epoch} step {step // 64} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()

main()
