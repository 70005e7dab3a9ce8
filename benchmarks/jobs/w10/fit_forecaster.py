import argparse, math, warnings
import torch, torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm

p = argparse.ArgumentParser()
p.add_argument("--peak-lr", type=float); p.add_argument("--warmup", type=int); p.add_argument("--momentum", type=float, default=0.9); p.add_argument("--batch", type=int, default=64)
args = p.parse_args()
acc = Accelerator(cpu=True)
torch.manual_seed(5)
t = torch.arange(20000 + 48, dtype=torch.float32)
series = torch.sin(t / 11) * 3 + torch.sin(t / 130) * 20 + 0.3 * torch.randn_like(t) + t * 2e-3
X = series.unfold(0, 48, 1)[:-1]; Y = series[48:].unsqueeze(1)[: len(X)]
ds = TensorDataset(X[: len(Y)], Y)
model = nn.Sequential(nn.Linear(48, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
opt = torch.optim.SGD(model.parameters(), lr=1e-6, momentum=args.momentum)
model, opt, dl = acc.prepare(model, opt, DataLoader(ds, args.batch, shuffle=True))
print(f"proc {acc.process_index}: {len(dl)} batches per epoch, device {acc.device}")
if acc.process_index == 2:
    warnings.warn("station 0417 has 212 missing hours, filled by interpolation")
step = 0
bar = tqdm(total=8 * len(dl), disable=not acc.is_main_process, mininterval=0.5)
for epoch in range(8):
    for x, y in dl:
        lr = args.peak_lr * min(1, (step + 1) / args.warmup)
        for g in opt.param_groups: g["lr"] = lr
        loss = (model(x) - y).pow(2).mean()
        acc.backward(loss)
        opt.step(); opt.zero_grad()
        mean = acc.reduce(loss.detach(), "mean").item()
        step += 1; bar.update()
        if step % 2 == 0:
            bar.set_postfix(loss=f"{mean:.4g}")
        if step % 3 == 0:
            print(f"proc {acc.process_index}: step {step} lr {lr:.2e} local loss {loss.item():.6g} mean {mean:.6g}")
        if not math.isfinite(mean):
            raise FloatingPointError(f"training diverged: mean loss is {mean} at step {step} (lr={lr:g})")
acc.print("done")
