import os, signal, sys, time, torch, torch.distributed as dist
from torch import nn
r = int(os.environ["RANK"]); open(f"pid.{r}", "w").write(f"{os.getpid()}\n")
stop = False
def on_usr1(sig, frame):
    global stop
    stop = True
    print(f"Caught signal {sig} ({signal.Signals(sig).name}) at {frame.f_code.co_name}:{frame.f_lineno}, will stop after this step", flush=True)
signal.signal(signal.SIGUSR1, on_usr1)
dist.init_process_group("gloo")
m = nn.parallel.DistributedDataParallel(nn.Linear(32, 32)); o = torch.optim.AdamW(m.parameters())
for s in range(100000):
    x = torch.randn(8, 32); l = (m(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); time.sleep(0.1)
    if r == 0 and s % 10 == 0: print(f"step {s}/100000 loss {l.item():.4f}")
    f = torch.tensor(int(stop)); dist.all_reduce(f, op=dist.ReduceOp.MAX)
    if f: break
if r == 0: torch.save({"m": m.module.state_dict(), "s": s}, "seg.pt"); print(f"ABORTING at step {s}: time limit. State saved to seg.pt")
dist.barrier(); dist.destroy_process_group(); sys.exit(0)
