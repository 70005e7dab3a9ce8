import warnings, torch, torch.distributed as dist
from torch import nn
from torch.profiler import profile, ProfilerActivity
dist.init_process_group("gloo"); r = dist.get_rank()
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5)), find_unused_parameters=True)
o = torch.optim.SGD(net.parameters(), .01); sch = torch.optim.lr_scheduler.StepLR(o, 5)
sch.step()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
    with torch.autocast("cuda", torch.float16):
        for s in range(8):
            x = torch.randn(4, 3, 8, 8, requires_grad=True); y = net(x); l = nn.functional.mse_loss(y, torch.zeros(4, 1)); o.zero_grad(); l.backward(); o.step()
            if r == 0: print("iter", s, float(l), x.mean().grad, flush=True)
if r == 0: print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=12))
