import argparse, os, time
import torch, torch.distributed as dist, torch.nn as nn, torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

ap = argparse.ArgumentParser()
for k, d in (("vocab-size", 8000), ("dim", 96), ("seq", 64), ("steps", 100)):
    ap.add_argument(f"--{k}", type=int, default=d)
a = ap.parse_args()
dist.init_process_group("gloo")
r = dist.get_rank()
tag = f"{time.strftime('%H:%M:%S')} [{r}]"
print(tag, f"args: {vars(a)}")


class LM(nn.Module):
    def __init__(s):
        super().__init__()
        s.wte = nn.Embedding(a.vocab_size, a.dim)
        s.wpe = nn.Embedding(a.seq, a.dim)
        s.block = nn.TransformerEncoderLayer(a.dim, 4, 4 * a.dim, batch_first=True)
        s.head = nn.Linear(a.dim, a.vocab_size, bias=False)

    def forward(s, x):
        return s.head(s.block(s.wte(x) + s.wpe.weight[: x.shape[1]]))


torch.manual_seed(1)
lm = LM()
print(tag, f"parameters: {sum(p.numel() for p in lm.parameters()):,}")
print(tag, f"shard {r}: {[812, 811, 811, 640][r]} documents")
model = DDP(lm)
opt = torch.optim.AdamW(model.parameters(), 3e-4)
for step in range(a.steps):
    x = torch.randint(0, a.vocab_size, (4, a.seq))
    loss = F.cross_entropy(model(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 10 == 0 and r == 0:
        print(tag, f"step {step} loss {loss.item():.3f}")
dist.destroy_process_group()
