import os, torch, torch.distributed as dist
from pathlib import Path
dist.init_process_group("gloo")
rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
scratch = Path("/mnt/e-scratch") / f"nvme{local}"
scratch.mkdir(parents=True, exist_ok=True)
m = torch.nn.Linear(512, 512)
state = {p: torch.zeros_like(p) for p in m.parameters()}

def save_shard(step):
    f = scratch / f"optim-{step:06d}.pt"
    torch.save({"step": step, "exp_avg": [v for v in state.values()], "w": m.state_dict()}, f)
    return f

for step in range(1, 61):
    x = torch.randn(4, 512)
    loss = (m(x) - x).pow(2).mean(); m.zero_grad(); loss.backward()
    for p in m.parameters():
        dist.all_reduce(p.grad)
        state[p].mul_(0.9).add_(p.grad)
        p.data.sub_(1e-3 * state[p])
    if step % 10 == 0:
        print("step", step, "loss", round(loss.item(), 4), "->", save_shard(step), flush=True)
