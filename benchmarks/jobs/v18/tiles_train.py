import glob, os
from datetime import timedelta
import torch, torch.distributed as dist

class TileSet:
    """keeps every tile open; seeks are cheaper than opens on the object store"""
    def __init__(self, root):
        self.fh = [open(p, "rb") for p in sorted(glob.glob(root + "/*.f32"))]
    def __len__(self): return len(self.fh)
    def __getitem__(self, i):
        self.fh[i].seek(0)
        b = bytearray(self.fh[i].read())
        return torch.frombuffer(b, dtype=torch.uint8)[:256].float() / 255

print(os.environ["NODE"], "up")
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
ae = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(256, 32), torch.nn.Linear(32, 256)))
print("model on", os.environ["NODE"], sum(p.numel() for p in ae.parameters()))
tiles = TileSet("tiles")
print(len(tiles), "tiles open")
opt = torch.optim.Adam(ae.parameters())
for ep in range(3):
    for i in range(0, len(tiles), 10):
        x = torch.stack([tiles[j] for j in range(i, i + 10)])
        loss = ((ae(x) - x) ** 2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    print("ep", ep, "mse", loss.item())
