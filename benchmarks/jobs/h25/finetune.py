import os, time, datetime, logging, torch, torch.distributed as dist
logging.basicConfig(format="%(levelname)s:%(message)s", level=logging.INFO)

def longest_first(lengths):
    """greedy packing, keeps the padding low"""
    bins = []
    for l in sorted(lengths, reverse=True):
        for b in bins:
            if sum(b) + l <= 4096:
                b.append(l); break
        else:
            bins.append([l])
    return bins

def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    rank = dist.get_rank()
    g = torch.Generator().manual_seed(rank)
    hi = 2048 if rank != 2 else 24
    lengths = torch.randint(8, hi, (2000 if rank != 2 else 200000,), generator=g).tolist()
    if rank == 0: logging.info("packing")
    bins = longest_first(lengths)
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=15), wait_all_ranks=True)
    n = torch.tensor([len(bins)]); dist.all_reduce(n)
    if rank == 0: logging.info("%d packs", n.item())

if __name__ == "__main__":
    main()
