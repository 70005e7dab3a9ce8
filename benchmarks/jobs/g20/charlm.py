import argparse, torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--text"); p.add_argument("--samples", type=int); a = p.parse_args()
dist.init_process_group("gloo"); rank = dist.get_rank(); torch.manual_seed(rank)
txt = open(a.text).read(); V = sorted(set(txt)); S = {c: i for i, c in enumerate(V)}; D = torch.tensor([S[c] for c in txt]); K = 8
class LM(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.e = torch.nn.Embedding(len(V), 24); s.h = torch.nn.Linear(24 * K, 256); s.o = torch.nn.Linear(256, len(V))
    def forward(s, x): return s.o(torch.relu(s.h(s.e(x).flatten(1))))
m = torch.nn.parallel.DistributedDataParallel(LM()); o = torch.optim.AdamW(m.parameters(), 5e-3)
@torch.no_grad()
def sample(n):
    x = D[:K].tolist()
    for _ in range(n): x.append(torch.multinomial((m.module(torch.tensor(x[-K:])[None]) / .5).softmax(-1)[0], 1).item())
    return "".join(V[i] for i in x)
for s in range(301):
    i = torch.randint(0, len(D) - K, (64,)); x = torch.stack([D[j:j + K] for j in i]); l = torch.nn.functional.cross_entropy(m(x), D[i + K]); o.zero_grad(); l.backward(); o.step()
    if rank == 0 and s % 100 == 0: print(f"[step {s}] train loss {l.item():.3f}", flush=True)
if rank == 0:
    for k in range(a.samples): print(f"==== sample {k} ===="); print(sample(330), flush=True)
dist.barrier(); dist.destroy_process_group()
