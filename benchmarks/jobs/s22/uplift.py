import os, socket, sys, time
import torch, torch.distributed as dist
host, port = sys.argv[2].split(":")
dist.init_process_group("gloo"); r, w = dist.get_rank(), dist.get_world_size()
print(f"uplift {r}/{w} attempt {os.environ['TRY']}", flush=True)
step, wgt = 0, torch.zeros(6)
if os.path.exists("last.pt"): step, wgt = torch.load("last.pt").values()
def features(n):
    time.sleep(1)
    with socket.create_connection((host, int(port)), timeout=5) as s:
        s.sendall(b"%d\n" % n)
        return torch.tensor([[float(v) for v in l.split()] for l in s.makefile()])
x = features(r); y = x @ torch.arange(6.) + .1 * torch.randn(len(x))
while step < 60:
    g = 2 * x.T @ (x @ wgt - y) / len(x); dist.all_reduce(g); wgt -= .05 * g / w; step += 1
    if step % 10 == 0: print(f"uplift {r}/{w} step {step} err {(x @ wgt - y).pow(2).mean():.4f}", flush=True)
if r == 0: torch.save({"step": step, "wgt": wgt}, "last.pt")
dist.barrier(); dist.destroy_process_group()
print(f"uplift {r}/{w} finished, weights {[round(v, 2) for v in wgt.tolist()]}", flush=True)
