import argparse, math, sys, torch
from accelerate import Accelerator
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float); a = p.parse_args(); acc = Accelerator(cpu=True)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 1, 3, padding=1)); o = torch.optim.SGD(net.parameters(), a.lr); net, o = acc.prepare(net, o)
try:
    import visdom
except Exception as e:
    acc.print(f"ERROR: live plots are off ({e})")
bad = 0
for s in range(60):
    x = torch.rand(4, 1, 16, 16); l = (net(x) - x).pow(2).mean(); o.zero_grad(); acc.backward(l); o.step()
    acc.print(f"step {s:02d} loss {l.item():.4g}"); bad = bad + 1 if not math.isfinite(l.item()) else 0
    if bad == 15: acc.print("loss was nan for 15 steps in a row, there is no point to go on"); break
acc.wait_for_everyone(); acc.end_training()
acc.print("summary: best_dice=0.000 | model not saved | bye")
sys.exit(1 if bad else 0)
