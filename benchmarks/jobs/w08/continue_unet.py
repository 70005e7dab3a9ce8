import argparse, os, time
E_ = os.environ
RANK, WORLD = int(E_["OMPI_COMM_WORLD_RANK"]), int(E_["OMPI_COMM_WORLD_SIZE"])
import torch, torch.distributed as dist
from net import make

ap = argparse.ArgumentParser(); ap.add_argument("--resume"); a = ap.parse_args()
dist.init_process_group("gloo", rank=RANK, world_size=WORLD)
tiles = [2210, 2210, 2209, 1874][RANK]
print(f"({RANK}) tiles={tiles} crop={64 + 32 * (RANK % 2)} device=cpu:{RANK} rss={int(open('/proc/self/statm').read().split()[1]) // 256}MB", flush=True)
if RANK == 3:
    print(f"({RANK}) UserWarning: 41 tiles are more than 90% cloud, will be skipped", flush=True)
model = make()
dist.barrier()
t = time.time()
ck = torch.load(a.resume, map_location="cpu")
model.load_state_dict(ck["model"])
print(f"({RANK}) resumed at epoch {ck['epoch']} in {time.time() - t:.1f}s", flush=True)
ddp = torch.nn.parallel.DistributedDataParallel(model)
opt = torch.optim.Adam(ddp.parameters(), 1e-4); opt.load_state_dict(ck["opt"])
for s in range(20):
    x = torch.randn(2, 3, 32, 32); l = (ddp(x) - x).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    print(f"({RANK}) e13 s{s} {l.item():.4f}", flush=True)
