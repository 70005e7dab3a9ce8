import os, time, torch, torch.distributed as dist
from datetime import timedelta
rank = int(os.environ["RANK"])
def out(*a): print(time.strftime("%H:%M:%S"), f"worker-{rank}:", *a, flush=True)
out("rendezvous", os.environ["MASTER_ADDR"] + ":" + os.environ["MASTER_PORT"], "world", os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
out("connected")
w = torch.zeros(10)
for i in range(20):
    g = torch.randn(10); dist.all_reduce(g); w -= .1 * g
    out(f"step {i} |w| {w.norm():.3f}")
