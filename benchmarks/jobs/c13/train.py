import torch
from accelerate import Accelerator
acc = Accelerator(cpu=True)
m = torch.nn.Linear(8, 1); o = torch.optim.SGD(m.parameters(), 0.1)
dl = torch.utils.data.DataLoader(torch.randn(256, 8), batch_size=8)
m, o, dl = acc.prepare(m, o, dl)
for i, b in enumerate(dl):
    l = m(b).pow(2).mean(); acc.backward(l); o.step(); o.zero_grad()
    acc.print(i, l.item())
