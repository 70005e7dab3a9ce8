import argparse, glob, os, sys, time, torch, torch.nn as nn, torch.distributed as dist
from tqdm import tqdm
p = argparse.ArgumentParser(); p.add_argument("--steps", type=int); p.add_argument("--resume", action="store_true"); a = p.parse_args()
dist.init_process_group("gloo"); main = dist.get_rank() == 0
net = nn.Sequential(nn.Embedding(100, 16), nn.Linear(16, 100)); s0 = 0
os.makedirs("snap", exist_ok=True)
if a.resume:
    f = max(glob.glob("snap/*.pt"), key=lambda f: int(os.path.basename(f)[:-3])); net.load_state_dict(torch.load(f)); s0 = int(os.path.basename(f)[:-3])
    if main: print("resuming from", f)
net = nn.parallel.DistributedDataParallel(net); opt = torch.optim.AdamW(net.parameters(), 1e-2)
bar = tqdm(range(s0, a.steps), initial=s0, total=a.steps, disable=not main, desc="mlm", mininterval=1)
for s in bar:
    x = torch.randint(0, 100, (8, 20)); y = net(x)
    loss = nn.functional.cross_entropy(y.flatten(0, 1), x.flatten()); opt.zero_grad(); loss.backward(); opt.step(); time.sleep(.15)
    bar.set_postfix(loss=f"{loss.item():.3f}")
    if main and s % 6 == 0 and s: torch.save(net.module.state_dict(), f"snap/{s}.tmp"); os.rename(f"snap/{s}.tmp", f"snap/{s}.pt")
if main: torch.save(net.module.state_dict(), "snap/final.bin"); print("saved snap/final.bin")
dist.destroy_process_group()
