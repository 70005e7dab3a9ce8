import argparse, os, signal, time, torch, torch.nn as nn
from tqdm import tqdm
p = argparse.ArgumentParser(); p.add_argument("--epochs", type=int); a = p.parse_args()
open(".pid", "w").write(str(os.getpid()))
torch.manual_seed(0)
X = torch.randn(2000, 20); Y = (X @ torch.randn(20, 1)) + .1 * torch.randn(2000, 1)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1)); opt = torch.optim.Adam(net.parameters())
for ep in range(a.epochs):
    bar = tqdm(range(0, 2000, 20), desc=f"epoch {ep}", mininterval=1)
    for i in bar:
        loss = nn.functional.mse_loss(net(X[i:i+20]), Y[i:i+20]); opt.zero_grad(); loss.backward(); opt.step()
        bar.set_postfix(loss=f"{loss.item():.3f}"); time.sleep(.02)
    print(f"epoch {ep}: train_loss={loss.item():.4f}", flush=True)
    open(".progress", "a").write(f"{ep}\n")
