import argparse, os, time
import torch, torch.distributed as dist

ap = argparse.ArgumentParser(); ap.add_argument("--ckpt"); args = ap.parse_args()
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def note(*a):
    print(time.strftime("%Y-%m-%d %H:%M:%S"), "|", *a, flush=True)


dist.init_process_group("gloo")
note(f"rank {rank} of {world} up, pid {os.getpid()}")
ck = torch.load(f"{args.ckpt}/model.pt")
params = {k: torch.nn.Parameter(v) for k, v in ck["model"].items()}
note(f"model at step {ck['step']} from {args.ckpt}/model.pt")
f = f"{args.ckpt}/optim_rank{rank}.pt"
note(f"optimizer shard {f} ({os.path.getsize(f)} bytes)")
opt = torch.load(f)
assert opt["rank"] == rank
n = sum(p.numel() for p in params.values()) // world
note(f"optimizer shard ok, {n} elements")
total = torch.tensor([float(n)])
dist.all_reduce(total)
note(f"all shards in, {int(total)} elements in total")
for step in range(ck["step"], ck["step"] + 100):
    x = torch.randn(32, 256)
    y = (torch.relu(x @ params["w1"]) @ params["w2"]).pow(2).mean()
    grads = torch.autograd.grad(y, list(params.values()))
    flat = torch.cat([g.flatten() for g in grads])
    dist.all_reduce(flat)
    flat /= world
    mine = flat[rank * n:(rank + 1) * n]
    opt["exp_avg"].lerp_(mine, 0.1)
    upd = [torch.empty(n) for _ in range(world)]
    dist.all_gather(upd, opt["exp_avg"])
    upd = torch.cat(upd); o = 0
    for p in params.values():
        p.data -= 1e-4 * upd[o:o + p.numel()].view_as(p); o += p.numel()
    if step % 20 == 0:
        note(f"step {step} loss {y.item():.3f}")
dist.destroy_process_group()
