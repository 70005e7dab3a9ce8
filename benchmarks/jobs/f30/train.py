import torch
from minitrain import *
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
def gen():
    for _ in range(500):
        x = torch.randn(32, 20) * 10; yield x, x.sum(1, keepdim=True)
MiniTrainer(net, 3e-2, [Printer(), FiniteGuard()]).fit(gen())
