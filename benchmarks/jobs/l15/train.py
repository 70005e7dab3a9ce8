import argparse, json, torch, torch.distributed as dist
ap = argparse.ArgumentParser()
ap.add_argument("--lr", type=float, default=1e-3)
ap.add_argument("--weight_decay", type=float, default=0.0)
ap.add_argument("--out", required=True)
ap.add_argument("--steps", type=int, default=50)
a = ap.parse_args()
dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 16))
opt = torch.optim.AdamW(net.parameters(), lr=a.lr, weight_decay=a.weight_decay)
for s in range(a.steps):
    x = torch.randn(8, 16); loss = (net(x) - x).pow(2).mean(); loss.backward(); opt.step(); opt.zero_grad()
if dist.get_rank() == 0:
    json.dump({"loss": loss.item()}, open(a.out + "/metrics.json", "w"))
