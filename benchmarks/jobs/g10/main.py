import torch, torch.distributed as dist, sys
from tqdm import tqdm
dist.init_process_group("gloo"); r = dist.get_rank(); torch.manual_seed(100 + r)
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(6, 24), torch.nn.GELU(), torch.nn.Linear(24, 1)))
o = torch.optim.Adam(m.parameters(), 3e-3); skipped = 0
bar = tqdm(range(58), disable=r != 0, desc="train", mininterval=0.05)
for s in bar:
    x = torch.randn(32, 6); t = x.prod(1, keepdim=True).log() if s % 13 == 7 and r == 1 else x.sum(1, keepdim=True)
    loss = (m(x) - t).pow(2).mean()
    o.zero_grad(); loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    if not torch.isfinite(norm):
        skipped += 1
        print(f"WARNING rank {r} step {s}: grad norm is {norm.item()} (loss={loss.item():.4f}), skipping optimizer step [{skipped} so far]", file=sys.stderr, flush=True)
        continue
    o.step(); bar.set_postfix(loss=f"{loss.item():.4f}")
acc = loss.detach(); dist.all_reduce(acc); dist.destroy_process_group()
if r == 0: print(f"| split | loss | skipped |\n|-------|------|---------|\n| train | {acc.item()/2:.4f} | {skipped} |")
