import argparse, time, torch, torch.distributed as dist

def load_embeddings(rank, n, d):
    g = torch.Generator().manual_seed(rank)
    return torch.nn.functional.normalize(torch.randn(n, d, generator=g), dim=1)

def near_duplicates(e, thr):
    sim = e @ e.T
    sim.fill_diagonal_(0)
    return int((sim > thr).any(1).sum())

def main():
    p = argparse.ArgumentParser(); p.add_argument("--thr", type=float, default=0.95); p.add_argument("--dim", type=int, default=16)
    a = p.parse_args()
    dist.init_process_group("gloo"); rank = dist.get_rank()
    total = 0
    sizes = {0: [1500, 1800, 2000, 1700], 1: [1600, 1400, 190000, 1500], 2: [1500, 1500, 1200, 1400]}[rank]
    for part, n in enumerate(sizes):
        e = load_embeddings(rank, n, a.dim)
        print(f"[{time.strftime('%H:%M:%S')}] rank {rank} part {part}: {n} embeddings", flush=True)
        k = torch.tensor([near_duplicates(e, a.thr)])
        dist.all_reduce(k); total += k.item()
    if rank == 0: print("near duplicates:", total)
main()
