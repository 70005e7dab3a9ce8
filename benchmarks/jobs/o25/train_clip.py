import argparse, io, json, os, re, tarfile, torch, torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset
def expand(s):
    m = re.search(r"\{(\d+)\.\.(\d+)\}", s)
    return [s[:m.start()] + str(i).zfill(len(m[1])) + s[m.end():] for i in range(int(m[1]), int(m[2]) + 1)]
class TarPairs(IterableDataset):
    def __init__(self, urls): self.urls = urls
    def __iter__(self):
        for u in self.urls:
            print(f"rank {dist.get_rank()}: opening {u}", flush=True)
            with tarfile.open(u, "r|*") as t:
                for m in t:
                    d = json.loads(t.extractfile(m).read()); yield torch.tensor(d["img"]), torch.tensor(d["txt"])
p = argparse.ArgumentParser(); p.add_argument("--shards"); a = p.parse_args()
dist.init_process_group("gloo"); rank, world = dist.get_rank(), dist.get_world_size()
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 32)); opt = torch.optim.AdamW(net.parameters())
dl = DataLoader(TarPairs(expand(a.shards)[rank::world]), batch_size=8)
for step, (im, tx) in enumerate(dl):
    logits = net(im) @ tx.T; loss = torch.nn.functional.cross_entropy(logits, torch.arange(len(im))); opt.zero_grad(); loss.backward(); opt.step()
    if step % 4 == 0: print(f"rank {rank} step {step} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
