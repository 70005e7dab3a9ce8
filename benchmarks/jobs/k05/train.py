import argparse, json, math
import torch, torch.distributed as dist
from torch import nn
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float); p.add_argument("--dim", type=int); p.add_argument("--heads", type=int); p.add_argument("--out")
a = p.parse_args()
dist.init_process_group("gloo")
torch.manual_seed(1)
net = nn.parallel.DistributedDataParallel(nn.TransformerEncoderLayer(a.dim, a.heads, 32, batch_first=True, dropout=0.0))
opt = torch.optim.SGD(net.parameters(), a.lr)
for s in range(25):
    x = torch.randn(4, 6, a.dim)
    loss = (net(x) * 3 - x.flip(1)).pow(2).mean()
    if not math.isfinite(loss.item()):
        raise FloatingPointError(f"loss is {loss.item()} at step {s} (lr={a.lr})")
    opt.zero_grad(); loss.backward(); opt.step()
    if dist.get_rank() == 0 and s % 6 == 0: print(f"    step {s} loss {loss.item():.4f}", flush=True)
if dist.get_rank() == 0: json.dump({"loss": loss.item()}, open(a.out, "w"))
dist.destroy_process_group()
