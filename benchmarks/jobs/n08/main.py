import argparse, time, torch, torch.distributed as dist
from tqdm import tqdm
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float); p.add_argument("--steps", type=int, default=400); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank()
torch.manual_seed(r); x = torch.randn(128, 10); y = x @ torch.arange(10.); w = torch.zeros(10)
bar = tqdm(range(a.steps), disable=r != 0, desc="train", mininterval=1)
for s in bar:
    g = 2 * x.t() @ (x @ w - y) / 128; dist.all_reduce(g); w -= a.lr * g / 2
    bar.set_postfix(loss=f"{((x @ w - y)**2).mean().item():.3g}"); time.sleep(0.15)
if r == 0: print(f"final loss {((x @ w - y)**2).mean().item():.4f}, weights -> w.pt"); torch.save(w, "w.pt")
dist.destroy_process_group()
