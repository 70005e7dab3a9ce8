import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=3)
a = ap.parse_args()
acc = Accelerator(cpu=True)
set_seed(13)
x = torch.randint(0, 300, (4000, 12))
y = (x.float().mean(1) > 150).long()
dl = DataLoader(TensorDataset(x[:3600], y[:3600]), batch_size=32, shuffle=True)
ev = DataLoader(TensorDataset(x[3600:], y[3600:]), batch_size=50)
net = torch.nn.Sequential(torch.nn.EmbeddingBag(300, 48), torch.nn.ReLU(), torch.nn.Linear(48, 2))
opt = torch.optim.AdamW(net.parameters(), 4e-3)
net, opt, dl, ev = acc.prepare(net, opt, dl, ev)
bar = tqdm(total=a.epochs * len(dl), disable=not acc.is_local_main_process, mininterval=1)
for ep in range(a.epochs):
    net.train()
    for i, (bx, by) in enumerate(dl):
        loss = torch.nn.functional.cross_entropy(net(bx), by)
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
        bar.update()
    net.eval()
    ok = n = 0
    for bx, by in ev:
        with torch.no_grad():
            p = net(bx).argmax(1)
        p, by = acc.gather_for_metrics((p, by))
        ok += (p == by).sum().item()
        n += len(by)
    acc.print(f"epoch {ep}: accuracy {ok / n:.4f} ({ok}/{n})")
    acc.save_state(f"out/epoch_{ep}")
acc.print("saved out/epoch_%d" % (a.epochs - 1))
print(f"process {acc.process_index}: last loss {loss.item():.4f}, finished")
acc.end_training()
