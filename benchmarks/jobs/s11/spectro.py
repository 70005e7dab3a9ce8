import argparse, csv, os, time
import numpy as np, torch, torch.distributed as dist
from torch import nn
ap = argparse.ArgumentParser(); ap.add_argument("--clips"); ap.add_argument("--epochs", type=int); a = ap.parse_args()
R = os.environ["RANK"]
def out(m): print(f"({R}) {m}", flush=True)
dist.init_process_group("gloo")
rows = list(csv.DictReader(open(a.clips)))
out(f"{a.clips}: {len(rows)} clips, {sum(float(r['seconds']) for r in rows)/60:.1f} min of audio")
L = {"rain": 0, "dog": 1, "saw": 2}
win = np.hanning(1024)
feats, t0 = [], time.time()
for k, r in enumerate(rows):
    rng = np.random.default_rng(k)
    sig = rng.normal(size=int(float(r["seconds"]) * 16000))
    spec = np.stack([np.abs(np.fft.rfft(sig[i:i + 1024] * win)) for i in range(0, len(sig) - 1024, 128)])
    feats.append(np.log1p(spec).mean(0)[:256].astype("f4") + 0.2 * L[r["label"]])
    if k % 40 == 39: out(f"features {k+1}/{len(rows)}")
out(f"features ready after {time.time()-t0:.1f} s")
x = torch.from_numpy(np.stack(feats)); y = torch.tensor([L[r["label"]] for r in rows])
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 3)))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for e in range(a.epochs):
    for i in range(0, 80, 16):
        loss = nn.functional.cross_entropy(net(x[i:i+16]), y[i:i+16]); opt.zero_grad(); loss.backward(); opt.step()
    out(f"epoch {e} loss {loss.item():.3f}")
dist.destroy_process_group()
