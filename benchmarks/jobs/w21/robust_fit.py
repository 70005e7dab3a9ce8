import os, time
import torch, torch.distributed as dist, torch.nn as nn

CK = "state.pt"; LOCK = "feed.lock"
r = int(os.environ["RANK"]); attempt = int(os.environ["TRY"])


def p(*a): print(f"{time.strftime('%X')} try{attempt} #{r}", *a, flush=True)


class FeedBusy(RuntimeError): pass


def open_feed(step):
    """rank 2 also reads the live feed; the feed can only be rotated while nobody trains"""
    if r == 2 and step == 60 and not os.path.exists(LOCK):
        open(LOCK, "w").write("rotated")
        raise FeedBusy("live feed was rotated under us (generation 17 -> 18), reopen needed")


dist.init_process_group("gloo")
net = nn.Linear(50, 50); opt = torch.optim.SGD(net.parameters(), 0.02); start = 0
if os.path.exists(CK):
    s = torch.load(CK); net.load_state_dict(s["net"]); start = s["step"]; p(f"resumed from {CK} at step {start}")
else:
    p("fresh start")
ddp = nn.parallel.DistributedDataParallel(net)
for step in range(start, 150):
    open_feed(step)
    x = torch.randn(64, 50); loss = (ddp(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step(); time.sleep(0.02)
    if step % 10 == 0: p(f"step {step} loss {loss.item():.4f}")
    if r == 0 and step % 25 == 24:
        torch.save({"net": net.state_dict(), "step": step + 1}, CK); p(f"checkpoint at step {step + 1}")
dist.barrier()
p("all 150 steps done")
dist.destroy_process_group()
