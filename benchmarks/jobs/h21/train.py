import torch, torch.distributed as dist, sys
from accelerate import Accelerator
from model import TwoTower
acc = Accelerator(cpu=True)
m = acc.prepare(TwoTower()); opt = torch.optim.SGD(m.parameters(), lr=0.1)
def batches(n):
    for i in range(n):
        b = {"text": torch.randn(4, 12)}
        if not (acc.process_index == 1 and i == 4):   # captions only in this file
            b["image"] = torch.randn(4, 30)
        yield b
for i, b in enumerate(batches(10)):
    loss = m(b); acc.backward(loss); opt.step(); opt.zero_grad()
    acc.print(f"batch {i}: loss {loss.item():.4f}")
