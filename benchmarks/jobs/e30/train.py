import argparse, hashlib, os, sys, time
import torch, deepspeed, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--local_rank", type=int, default=0); p.add_argument("--data", default="ids"); a = p.parse_args()
deepspeed.init_distributed("gloo")
r = dist.get_rank()
def digest(path): return hashlib.md5(open(path, "rb").read()).hexdigest()[:8]
W = torch.zeros(16)
for part in range(6):
    f = f"{a.data}/{r}/part{part}.bin"
    want = open(f + ".md5").read().strip()
    have = digest(f)
    print(f"worker {r} part {part} md5 {have}", flush=True)
    if have != want:
        print(f"worker {r}: {f} should be {want}, giving up", flush=True)
        sys.exit(17)
    for _ in range(5):
        g = torch.randn(16); dist.all_reduce(g); W -= 0.1 * g
    if r == 0: print(f"part {part} done, |W|={W.norm():.3f}", flush=True)
