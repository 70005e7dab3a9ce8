import argparse, glob, os, time, torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--ckpt-dir", default="ckpts")
ap.add_argument("--resume", default=None)
a = ap.parse_args()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256))
opt = torch.optim.Adam(model.parameters(), 1e-3)
start = 0
if a.resume:
    path = sorted(glob.glob(os.path.join(a.resume, "epoch_*.pt")))[-1]
    print(f"=> loading checkpoint '{path}'")
    st = torch.load(path, map_location="cpu")
    model.load_state_dict(st["model"]); opt.load_state_dict(st["opt"]); start = st["epoch"] + 1
    print(f"=> resumed at epoch {start}")
for ep in range(start, a.epochs):
    t0 = time.time()
    for i in range(20):
        x = torch.randn(32, 256)
        loss = (model(x) - x).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    print(f"Epoch {ep}: train_loss={loss.item():.4f} time={time.time()-t0:.2f}s")
    os.makedirs(a.ckpt_dir, exist_ok=True)
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": ep}, f"{a.ckpt_dir}/epoch_{ep:03d}.pt")
