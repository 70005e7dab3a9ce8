import argparse, datetime, torch, torch.distributed as dist
p = argparse.ArgumentParser()
p.add_argument("--rank", type=int); p.add_argument("--world", type=int); p.add_argument("--rdzv")
a = p.parse_args()
print(f"{a.rank}/{a.world} using {a.rdzv}")
dist.init_process_group("gloo", init_method=a.rdzv, rank=a.rank, world_size=a.world, timeout=datetime.timedelta(seconds=15))
print("go")
for s in range(10):
    t = torch.randn(5); dist.all_reduce(t)
    print(s, t.mean().item())
