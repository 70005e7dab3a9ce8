import os, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo"); rank = dist.get_rank()
m = DDP(torch.nn.Transformer(16, 2, 1, 1, 32, batch_first=True)); o = torch.optim.AdamW(m.parameters(), 1e-3)
if rank == 0: print(f"training for 5000 steps on {dist.get_world_size()} ranks", flush=True)
for s in range(5000):
    x = torch.randn(2, 8, 16); l = (m(x, x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if rank == 0 and s % 10 == 0: print(f"step {s:>5}/5000  loss {l.item():.4f}  lr 1.00e-03", flush=True)
    if rank == 0 and s % 50 == 0:
        with open("progress.txt", "w") as f: f.write(str(s))
    time.sleep(0.03)
if rank == 0: torch.save(m.module.state_dict(), "final.pt"); print("training finished", flush=True)
dist.destroy_process_group()
