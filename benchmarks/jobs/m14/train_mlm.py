import argparse, os
import torch, torch.nn as nn, torch.distributed as dist
ap = argparse.ArgumentParser()
ap.add_argument("--local_rank", type=int, default=-1)
ap.add_argument("--seq_len", type=int, default=128)
args = ap.parse_args()
dist.init_process_group("gloo")
rk = args.local_rank

class Stream:
    """documents of this worker, chopped into blocks"""
    def __init__(self, rank, vocab):
        g = torch.Generator().manual_seed(100 + rank)
        self.ids = torch.randint(0, vocab, (40_000 - 23 * rank * rank,), generator=g)
        self.pos = 0
    def take(self, b, n):
        out = self.ids[self.pos:self.pos + b * n]
        self.pos += b * n
        assert out.numel() == b * n, f"short read: wanted {b}x{n}, got {out.numel()} ids at offset {self.pos - b * n}"
        return out.view(b, n)

V = 500
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(V, 32), nn.Linear(32, V)))
opt = torch.optim.AdamW(net.parameters(), 1e-3)
st = Stream(rk, V)
b = 8
n_steps = 39
for step in range(n_steps):
    ids = st.take(b, args.seq_len)
    loss = nn.functional.cross_entropy(net(ids).flatten(0, 1), ids.flatten())
    opt.zero_grad(); loss.backward(); opt.step()
    if rk == 0 and step % 4 == 0:
        print(f"[mlm] {step:>4}/{n_steps} loss={loss.item():.3f}", flush=True)
dist.destroy_process_group()
