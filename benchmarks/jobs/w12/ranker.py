import datetime, os
import torch, torch.distributed as dist, torch.nn as nn
r = int(os.environ["RANK"])
print(f"ranker rank={r} queries={[15201, 15201, 15201, 9977][r]} torch={torch.__version__}")
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
m = nn.parallel.DistributedDataParallel(nn.Linear(136, 1)); o = torch.optim.SGD(m.parameters(), 0.01)
for i in range(100):
    x = torch.randn(128, 136); l = nn.functional.softplus(-(m(x) - m(x.flip(0)))).mean()
    o.zero_grad(); l.backward(); o.step()
    if i % 10 == 0: print(f"rank {r} it {i} pairwise {l.item():.4f}")
dist.destroy_process_group()
