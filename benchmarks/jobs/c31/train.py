import logging, torch
from accelerate import Accelerator
from accelerate.utils import set_seed
set_seed(42)
acc = Accelerator(cpu=True)
print(acc.state, flush=True)
def main():
    from dataset import load
    dl = torch.utils.data.DataLoader(load(), batch_size=8); m = torch.nn.Linear(1, 1); o = torch.optim.SGD(m.parameters(), 1e-3)
    m, o, dl = acc.prepare(m, o, dl)
    for b in dl:
        l = (m(b) - b).pow(2).mean(); acc.backward(l); o.step(); o.zero_grad(); acc.print("loss", l.item())
main()
