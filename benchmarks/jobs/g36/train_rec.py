import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank(); open(f"worker{r}.pid", "w").write(str(os.getpid()))
class MF(torch.nn.Module):
    def __init__(s): super().__init__(); s.u, s.v = torch.nn.Embedding(100, 8), torch.nn.Embedding(200, 8)
    def forward(s, a, b): return (s.u(a) * s.v(b)).sum(-1)
m = torch.nn.parallel.DistributedDataParallel(MF()); o = torch.optim.Adagrad(m.parameters(), .1)
for i in range(60):
    a, b = torch.randint(0, 100, (64,)), torch.randint(0, 200, (64,)); l = torch.nn.functional.binary_cross_entropy_with_logits(m(a, b), ((a + b) % 2).float()); o.zero_grad(); l.backward(); o.step(); time.sleep(.4)
    print(f"iter {i} bce {l.item():.4f}", flush=True)
