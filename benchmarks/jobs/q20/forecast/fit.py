import torch, torch.distributed as dist
from forecast.series import seasonal, windows
try:
    from forecast.series import holidays; holidays(2024)
except ImportError as e:
    print(f"warning: training without holidays: {e}")
dist.init_process_group("gloo"); r = dist.get_rank()
w = torch.tensor(windows(seasonal(400, 24 if r else 12), 25)); x, y = w[:, :-1], w[:, -1:]
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(24, 1)); opt = torch.optim.Adam(net.parameters(), 0.01)
for e in range(30):
    for i in range(0, len(x), 64):
        l = (net(x[i:i+64]) - y[i:i+64]).square().mean(); opt.zero_grad(); l.backward(); opt.step()
    if e % 5 == 4: print(f"[{r}] epoch {e + 1} mse {l.item():.5f}", flush=True)
if r == 0: torch.save({"rmse": l.item() ** .5, "epochs": 30, "net": net.module.state_dict()}, "forecast.pt")
dist.barrier(); dist.destroy_process_group()
