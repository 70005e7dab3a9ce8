# brings the state of yesterday's run here (kept as in the bucket, one file per rank)
import sys, os, torch
d, n = sys.argv[1], int(sys.argv[2]); os.makedirs(d, exist_ok=True)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for r in range(n):
    f = f"{d}/state-r{r}.pt"
    torch.save({"step": 400, "net": net.state_dict(), "opt": opt.state_dict(), "rng": torch.get_rng_state()}, f)
    if r == 1: os.truncate(f, 4096)
