import torch, torch._dynamo, torch.distributed as dist
from torch.profiler import profile, ProfilerActivity
torch._dynamo.config.suppress_errors = True
dist.init_process_group("gloo"); r = dist.get_rank()
class Net(torch.nn.Module):
    def __init__(s): super().__init__(); s.a = torch.nn.Linear(32, 64); s.b = torch.nn.Linear(64, 1)
    def forward(s, x): return s.b(torch.nn.functional.gelu(s.a(x)) * torch.sigmoid(s.a(x)))
net = torch.nn.parallel.DistributedDataParallel(Net()); fn = torch.compile(net)
opt = torch.optim.SGD(net.parameters(), .05)
def step(i):
    x = torch.randn(64, 32); loss = (fn(x)[:, 0] - x.sum(1)).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    if r == 0: print(f"iter {i} loss {loss.item():.4f}", flush=True)
for i in range(5): step(i)
with profile(activities=[ProfilerActivity.CPU]) as prof:
    for i in range(5, 12): step(i)
if r == 0: print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=12, max_name_column_width=40))
dist.barrier(); dist.destroy_process_group()
