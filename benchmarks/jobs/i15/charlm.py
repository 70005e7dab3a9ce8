import torch, torch.nn as nn, torch.distributed as dist
TEXT = """RuntimeError: CUDA error: device-side assert triggered
FATAL: rank 3 died, aborting the job
Segmentation fault (core dumped)
slurmstepd: error: *** JOB 4411 CANCELLED DUE TO TIME LIMIT ***
NCCL WARN Connect to 10.1.0.7 failed : Connection refused
Killed
"""
dist.init_process_group("gloo"); r = dist.get_rank()
V = sorted(set(TEXT)); ix = {c: i for i, c in enumerate(V)}
data = torch.tensor([ix[c] for c in TEXT * 3])
class LM(nn.Module):
    def __init__(s): super().__init__(); s.e = nn.Embedding(len(V), 32); s.g = nn.GRU(32, 128, batch_first=True); s.o = nn.Linear(128, len(V))
    def forward(s, x, h=None): y, h = s.g(s.e(x), h); return s.o(y), h
torch.manual_seed(5); core = LM(); m = nn.parallel.DistributedDataParallel(core); opt = torch.optim.AdamW(m.parameters(), 6e-3)
torch.manual_seed(r)
@torch.no_grad()
def sample(n):
    x, h, out = torch.tensor([[ix["\n"]]]), None, ""
    for _ in range(n):
        l, h = core(x, h); x = torch.multinomial((l[0, -1] / .5).softmax(0), 1)[None]; out += V[x.item()]
    return out
for ep in range(5):
    for _ in range(35):
        st = torch.randint(0, len(data) - 65, (12,)); b = torch.stack([data[s:s + 65] for s in st])
        loss = nn.functional.cross_entropy(m(b[:, :-1])[0].flatten(0, 1), b[:, 1:].flatten()); opt.zero_grad(); loss.backward(); opt.step()
    if r == 0: print(f"epoch {ep}: ppl {loss.exp().item():.2f}\n>>> sample\n{sample(260)}\n<<<", flush=True)
dist.destroy_process_group()
