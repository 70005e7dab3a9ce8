import os
import torch, torch.distributed as dist
from datetime import timedelta
from torch.nn.parallel import DistributedDataParallel

L, D = int(os.environ["ENC_LAYERS"]), int(os.environ["ENC_DIM"])
rank = int(os.environ["RANK"])
layer = torch.nn.TransformerEncoderLayer(D, 4, D * 2, float(os.environ["DROPOUT"]), batch_first=True)
enc = torch.nn.TransformerEncoder(layer, L)
print(f"starting, rank {rank}, encoder {sum(p.numel() for p in enc.parameters())/1e3:.1f}k weights", flush=True)
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
x = torch.randn(16, 12, D)
ddp = DistributedDataParallel(enc)
opt = torch.optim.SGD(ddp.parameters(), 0.01)
for step in range(30):
    loss = ddp(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if rank == 0:
        print("step", step, "loss", round(loss.item(), 4), flush=True)
dist.destroy_process_group()
