import json, os, sys, math, traceback, torch, torch.nn as nn, torch.distributed as dist
rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=rank, world_size=world)
grid = json.load(open(sys.argv[2]))

def trial(cfg):
    torch.manual_seed(0)
    h = cfg.get("hidden", 16)
    m = nn.Sequential(nn.Linear(8, h), getattr(nn, cfg["act"])(), nn.Linear(h, 1))
    o = torch.optim.SGD(m.parameters(), lr=float(cfg["lr"]))
    x = torch.randn(64, 8); y = x[:, :1] * 2
    for s in range(15):
        loss = (m(x) - y).pow(2).mean(); o.zero_grad(); loss.backward()
        for p in m.parameters():
            dist.all_reduce(p.grad); p.grad /= world
        o.step()
    return loss.item()

results = []
for i, cfg in enumerate(grid):
    try:
        v = trial(cfg)
        st = "ok" if math.isfinite(v) else "DIVERGED"
    except Exception as e:
        v, st = float("nan"), f"FAILED ({type(e).__name__})"
        if rank == 0:
            print(f"Trial {i} failed:", flush=True); traceback.print_exc()
    dist.barrier()
    results.append((i, cfg["lr"], cfg["act"], v, st))
    if rank == 0: print(f"trial {i}: loss={v} status={st}", flush=True)
if rank == 0:
    print("+----+---------+-------+------------+--------------------------+")
    for i, lr, act, v, st in results:
        print(f"| {i:2d} | {lr!s:>7} | {act:5s} | {v:10.4g} | {st:24s} |")
    print("+----+---------+-------+------------+--------------------------+")
    best = min((r for r in results if r[4] == "ok"), key=lambda r: r[3])
    print(f"best: trial {best[0]} lr={best[1]} act={best[2]}  ({sum(r[4]!='ok' for r in results)}/{len(results)} trials failed)")
dist.destroy_process_group()
