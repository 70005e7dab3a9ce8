import torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
docs = [l.encode().decode("unicode_escape") for l in open("corpus.txt").read().splitlines()]
vocab = sorted(set("".join(docs)) | {"\x03"}); ix = {c: i for i, c in enumerate(vocab)}
if rank == 0:
    print(f"Loaded {len(docs)} tickets, vocab {len(vocab)}. Two random samples:")
    for d in (docs[1], docs[4]): print("---- sample ----\n" + d)
    print("----------------", flush=True)
class LM(nn.Module):
    def __init__(s):
        super().__init__(); s.e = nn.Embedding(len(vocab), 48); s.r = nn.GRU(48, 192, batch_first=True); s.o = nn.Linear(192, len(vocab))
    def forward(s, x, h=None):
        y, h = s.r(s.e(x), h); return s.o(y), h
torch.manual_seed(0)
m = nn.parallel.DistributedDataParallel(LM()); opt = torch.optim.Adam(m.parameters(), 8e-3)
def generate(prompt, n=140):
    x = torch.tensor([[ix[c] for c in prompt]]); h = None; out = prompt
    with torch.no_grad():
        for _ in range(n):
            y, h = m.module(x, h); x = y[:, -1:].argmax(-1); c = vocab[x.item()]
            if c == "\x03": break
            out += c
    return out
for step in range(121):
    loss = 0
    for d in docs[rank::world]:
        t = torch.tensor([[ix[c] for c in d + "\x03"]]); y, _ = m(t[:, :-1]) if False else m(t[:, :-1])
        loss = loss + nn.functional.cross_entropy(y[0], t[0, 1:])
    loss = loss / len(docs[rank::world]); opt.zero_grad(); loss.backward(); opt.step()
    if rank == 0 and step % 20 == 0:
        print(f"[{step:4d}] loss {loss.item():.3f}", flush=True)
        if step % 40 == 0 and step:
            for p in ("R", "Tr", "OSE", "Q: "): print("   >>>", generate(p), flush=True)
dist.barrier()
if rank == 0:
    print("Answers of the finished model:")
    for p in ("Runtime", "kernel: ", "slurmstepd: "): print(generate(p), flush=True)
dist.destroy_process_group()
