import logging, torch, resource
from accelerate import Accelerator
import torch.nn as nn
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
acc = Accelerator(cpu=True)
soft = 6 * 2**30
resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
torch.manual_seed(0)
net, opt = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)), None
opt = torch.optim.SGD(net.parameters(), 0.01); net, opt = acc.prepare(net, opt)
bs = 2 ** 23
while bs:
    try:
        x = torch.randn(bs, 256); y = torch.randint(10, (bs,))
        nn.functional.cross_entropy(net(x), y).backward(); opt.zero_grad()
        break
    except RuntimeError as e:
        acc.print(f"batch size {bs} does not fit: {e}")
        opt.zero_grad(); bs //= 8192
        acc.print(f"  -> trying {bs}")
acc.print(f"using batch size {min(bs, 64)} (limit found: {bs})"); bs = min(bs, 64)
for s in range(20):
    x = torch.randn(bs, 256); y = torch.randint(10, (bs,)); l = nn.functional.cross_entropy(net(x), y); opt.zero_grad(); acc.backward(l); opt.step()
    if s % 5 == 0: acc.print(f"step {s} loss {l.item():.3f}")
acc.wait_for_everyone(); acc.print("done"); acc.end_training()
