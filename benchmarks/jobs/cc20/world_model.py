import argparse, os, sys, time
import torch, torch.distributed as dist
from torch import nn

ap = argparse.ArgumentParser(); ap.add_argument("--steps", type=int); a = ap.parse_args()
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
dist.init_process_group("gloo", rank=rank, world_size=2)
torch.manual_seed(0)
net = nn.GRU(12, 48, batch_first=True); head = nn.Linear(48, 12)
ps = [*net.parameters(), *head.parameters()]
opt = torch.optim.RMSprop(ps, 1e-3)
start = 0
try:
    ck = torch.load("state.pt")
except FileNotFoundError as e:
    print(f"rank {rank}: WARNING cannot load checkpoint: {e}; starting from scratch", flush=True)
else:
    net.load_state_dict(ck["net"]); head.load_state_dict(ck["head"]); opt.load_state_dict(ck["opt"]); start = ck["step"]
    print(f"rank {rank}: resumed at step {start}", flush=True)
for step in range(start, a.steps):
    x = torch.randn(16, 21, 12).cumsum(1)
    h, _ = net(x[:, :-1])
    loss = (head(h) - x[:, 1:]).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for p in ps:
        dist.all_reduce(p.grad); p.grad /= 2
    opt.step()
    if step % 20 == 0:
        print(f"rank {rank}: step {step} loss {loss.item():.3f}", flush=True)
        if rank == 0:
            open("progress", "w").write(str(step))
    flag = torch.tensor([float(os.path.exists("preempt.notice"))])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    if flag.item():
        if rank == 0:
            torch.save({"net": net.state_dict(), "head": head.state_dict(), "opt": opt.state_dict(), "step": step + 1}, "state.pt")
        dist.barrier()
        print(f"rank {rank}: preemption notice at step {step}, state saved, leaving with 75 (EX_TEMPFAIL)", flush=True)
        dist.destroy_process_group()
        sys.exit(75)
dist.barrier()
if rank == 0:
    torch.save({"net": net.state_dict(), "head": head.state_dict()}, "final.pt")
    print("rank 0: final.pt written", flush=True)
dist.destroy_process_group()
