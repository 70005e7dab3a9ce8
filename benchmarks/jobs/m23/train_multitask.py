import torch, torch.nn as nn
from accelerate import Accelerator
acc = Accelerator(cpu=True)

class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(20, 20)
        self.seg = nn.Linear(20, 4)
        self.depth = nn.Linear(20, 1)
    def forward(self, x, task):
        h = self.trunk(x).relu()
        return self.seg(h) if task == "seg" else self.depth(h)

net = MultiTask(); opt = torch.optim.AdamW(net.parameters())
net, opt = acc.prepare(net, opt)
tasks = ["seg", "depth"]
for it in range(50):
    out = net(torch.randn(8, 20), tasks[it % 2])
    loss = out.pow(2).mean()
    acc.backward(loss); opt.step(); opt.zero_grad()
    acc.print(f"it {it} task {tasks[it % 2]} loss {loss.item():.4f}")
