import logging, sys, math
import torch, torch.nn as nn, torch.distributed as dist
logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s | %(levelname)-7s | %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()
dist.init_process_group("gloo")
rank = dist.get_rank()
try:
    import flash_attn
    attn = "flash"
except ImportError:
    log.exception("flash_attn is not there, using sdpa")
    attn = "sdpa"
torch.manual_seed(7)
class Block(nn.Module):
    def __init__(s):
        super().__init__()
        s.q, s.k, s.v, s.o = (nn.Linear(64, 64) for _ in range(4))
    def forward(s, x):
        return x + s.o(nn.functional.scaled_dot_product_attention(s.q(x), s.k(x), s.v(x)))
net = nn.parallel.DistributedDataParallel(nn.Sequential(Block(), Block(), nn.Linear(64, 64)))
total, warm, peak = 400, 200, 40.0
opt = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
for step in range(1, total + 1):
    for g in opt.param_groups:
        g["lr"] = peak * (min(1, step / warm) ** 6)
    x = torch.randn(4, 16, 64)
    loss = (net(x) - x.roll(1, 1)).pow(2).mean()
    if not math.isfinite(loss.item()):
        raise FloatingPointError(f"loss is {loss.item()} at step {step}")
    opt.zero_grad(); loss.backward()
    opt.step()
    if rank == 0 and step % 2 == 0:
        log.info("step %4d  loss %.5g  lr %.3g  attn %s", step, loss.item(), opt.param_groups[0]["lr"], attn)
log.info("done")
