import os, faulthandler, numpy as np, torch, torch.distributed as dist
from fastops import token_hist
faulthandler.enable()
VOCAB = 32000

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    total = torch.zeros(VOCAB, dtype=torch.int64)
    for part in range(rank, 12, dist.get_world_size()):
        ids = np.load(f"tok/{part:03d}.npy")
        h = torch.from_numpy(token_hist(ids, VOCAB))
        dist.all_reduce(h)
        total += h
        print(f"rank {rank}: part {part:03d}, {ids.size} tokens, {int((h > 0).sum())} distinct in this round", flush=True)
    if rank == 0:
        np.save("hist.npy", total.numpy())

main()
