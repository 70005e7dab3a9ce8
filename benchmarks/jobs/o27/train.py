import argparse, json, torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler
p = argparse.ArgumentParser(); p.add_argument("--labels"); a = p.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank()
CLASSES = ["cat", "dog", "bird", "fish"]
class Items(Dataset):
    def __init__(self, f): self.rows = json.load(open(f))
    def __len__(self): return len(self.rows)
    def __getitem__(self, i):
        r = self.rows[i]; return torch.tensor(r["feat"]), CLASSES.index(r["label"])
ds = Items(a.labels); dl = DataLoader(ds, batch_size=4, sampler=DistributedSampler(ds, shuffle=False))
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(6, len(CLASSES))); opt = torch.optim.SGD(m.parameters(), lr=.05)
for step, (x, y) in enumerate(dl):
    loss = torch.nn.functional.cross_entropy(m(x), y); opt.zero_grad(); loss.backward(); opt.step()
    if step % 3 == 0: print(f"rank{rank} step {step}/{len(dl)} loss={loss.item():.3f}", flush=True)
print(f"rank{rank} done"); dist.destroy_process_group()
