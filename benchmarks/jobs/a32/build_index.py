import time, sys, re, datetime, torch, torch.distributed as dist

PATTERN = re.compile(r"^(\w+\s?)+$")

def clean(lines):
    return [l for l in lines if PATTERN.match(l)]

def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    rank = dist.get_rank()
    lines = open(f"in/{rank}.txt").read().splitlines()
    print(f"{time.strftime('%X')} rank {rank} cleaning {len(lines)} lines", flush=True)
    kept = clean(lines)
    print(f"{time.strftime('%X')} rank {rank} kept {len(kept)}", flush=True)
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=10), wait_all_ranks=True)
    n = torch.tensor([len(kept)]); dist.all_reduce(n)
    if rank == 0: print("total", n.item())
main()
