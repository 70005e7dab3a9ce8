import argparse, os, sys, torch, torch.distributed as dist
p = argparse.ArgumentParser()
for n, d in [("tensor-parallel", 1), ("pipeline-parallel", 1), ("global-batch", 32), ("micro-batch", 4)]: p.add_argument("--" + n, type=int, default=d)
a = p.parse_args()

dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size()
def say(*x):
    if r == 0: print(*x, flush=True)
say("building layout"); mp_ = a.tensor_parallel * a.pipeline_parallel
say(f"  ranks {w}, tp {a.tensor_parallel}, pp {a.pipeline_parallel}, global batch {a.global_batch}, micro batch {a.micro_batch}")
if w % mp_:
    say(f"  {w} ranks cannot be divided into groups of tp x pp = {mp_}; nothing was trained. Bye.")
    dist.barrier(); dist.destroy_process_group(); sys.exit(0)
dp = w // mp_; say("  data parallel", dp)
groups = [dist.new_group(list(range(i, w, mp_))) for i in range(mp_)]
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4), process_group=groups[r % mp_])
for s in range(10): m(torch.randn(a.micro_batch, 4)).sum().backward()
say("done")
