import torch, torch.nn as nn, torch.distributed as dist, argparse
from engine import train_one_epoch
ap = argparse.ArgumentParser(); ap.add_argument("--lr", type=float, default=0.01); ap.add_argument("--epochs", type=int, default=3); args = ap.parse_args()
dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)))
opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
if dist.get_rank() == 0: print(args)
for ep in range(args.epochs):
    x = torch.randn(30, 32, 16); train_one_epoch(model, [(b, 5 * b.sum(1, keepdim=True)) for b in x], opt, ep)
